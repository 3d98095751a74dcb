"""Start-up time is recovery time: what every process imports first must stay light."""

import subprocess
import sys
from pathlib import Path

REPO_ROOT = Path(__file__).parents[2]

# Each costs 3 to 100 ms of CPU on a small machine, where zmq and msgpack together cost 75.
HEAVY = {
    "argparse",
    "asyncio",
    "ctypes",
    "dataclasses",
    "inspect",
    "logging",
    "multiprocessing",
    "numpy",
    "subprocess",
    "tempfile",
}


def test_the_runtime_base_imports_nothing_heavy() -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys\n"
            "import runtime.clock, runtime.errors, runtime.exits, runtime.heartbeat\n"
            "import runtime.histogram, runtime.lockfile, runtime.log, runtime.realtime\n"
            "import runtime.rundir, runtime.tick, runtime.timerfd, runtime.watchdog\n"
            "print(*sys.modules)",
        ],
        cwd=REPO_ROOT,
        capture_output=True,
        check=True,
        timeout=30,
    )
    loaded = set(done.stdout.decode().split())
    assert "runtime.tick" in loaded
    assert loaded & HEAVY == set()
