"""python -m tools.doctor [--json]: looks at everything that can be looked at, and names the fix.

Needs no robot and changes nothing. Exit code 1 if something failed, 0 with warnings only.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import MutableMapping, Sequence
from pathlib import Path
from typing import Final

from runtime import addresses, config
from runtime.errors import ConfigError, FarhandError
from runtime.exits import read_exits
from runtime.rundir import run_dir
from runtime.settings import Settings
from tools import deployment, gen_supervisord
from tools.checks import machine, network, stack
from tools.checks.observe import Observation, observe
from tools.checks.row import Row, fail, ok, warn
from tools.deployment import Deployment
from tools.run import open_to_lan
from tools.supervisor import Supervisor, listener_pid

NAME_COLUMNS: Final = 22


def main(argv: list[str] | None = None) -> int:
    """Prints the report; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.doctor", description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    options = parser.parse_args(argv)
    rows = examine(dict(os.environ))
    counts = Counter(row.status for row in rows)
    if options.json:
        found = {"failed": counts["fail"], "rows": [row._asdict() for row in rows]}
        print(json.dumps(found, indent=1))
    else:
        print("\n".join(table(rows)))
        print(f"{counts['ok']} ok, {counts['warn']} warnings, {counts['fail']} failures")
    return 1 if counts["fail"] else 0


def table(rows: Sequence[Row]) -> list[str]:
    """One line a row, and the fix below it where there is one."""
    lines = []
    for row in rows:
        lines.append(f"{row.status:<5} {row.name:<{NAME_COLUMNS}} {row.says}")
        if row.fix:
            lines.append(f"{'':<{NAME_COLUMNS + 6}} fix: {row.fix}")
    return lines


def examine(env: MutableMapping[str, str]) -> list[Row]:
    """Every row that can be had; a broken configuration only costs the rows that need it."""
    settings, rows = settings_rows(env)
    where, run_rows = run_dir_rows(env)
    rows += [*run_rows, *deployment_rows(), *machine.rows(where)]
    if settings is None:
        return rows
    try:
        rows += network.rows(settings, where)
    except ConfigError as error:
        return [*rows, fail("network", str(error), "mend that key")]
    if where is not None:
        rows += stack_rows(settings, where)
    return rows


def settings_rows(env: MutableMapping[str, str]) -> tuple[Settings | None, list[Row]]:
    """The configuration, as `env` asks for it."""
    name = "configuration"
    try:
        settings = config.load(env)
        notes = config.warnings(settings) + open_to_lan(env, settings)
        settings = config.load(env)
    except ConfigError as error:
        return None, [fail(name, str(error), "mend that key; bounds are in runtime/settings.py")]
    arms = ", ".join(f"{side} {arm.driver}" for side, arm in settings.arm.items())
    rows = [ok(name, f"robot {settings.robot}, arms: {arms}")]
    return settings, rows + [warn(name, note, "see the configuration") for note in notes]


def run_dir_rows(env: MutableMapping[str, str]) -> tuple[Path | None, list[Row]]:
    """Where sockets, locks and logs are."""
    try:
        where = run_dir(config.REPO_ROOT, env, Path(tempfile.gettempdir()))
    except FarhandError as error:
        return None, [fail("run directory", str(error), "see there")]
    return where, [ok("run directory", str(where))]


def deployment_rows() -> list[Row]:
    """Whether set-up has run and the generated file is what it should be."""
    rows = [machine.venv_row(config.REPO_ROOT / ".venv" / "bin" / "python")]
    conf = gen_supervisord.CONF
    if conf.is_file() and conf.read_text(encoding="utf-8") == gen_supervisord.render():
        return [*rows, ok("supervisord.conf", "as generated")]
    return [*rows, fail("supervisord.conf", "outdated", "python -m tools.gen_supervisord")]


def stack_rows(settings: Settings, where: Path) -> list[Row]:
    """What runs now."""
    rows = supervisor_rows(where)
    seen = observe(where)
    if not (seen.health or seen.arms or seen.hands):
        return [*rows, warn("stack", "nothing runs", "make run")]
    listen = network.bound_addresses(settings.ingest.port_right)
    rows += stack.rows(seen, settings, listen or addresses.resolve_listen(settings.network.listen))
    return rows + scheduling_rows(seen)


def supervisor_rows(where: Path) -> list[Row]:
    """The supervisor and its programs."""
    try:
        deployed: Deployment = deployment.find()
        pid = listener_pid(deployed.socket)
        if pid is None:
            return [ok("supervisor", "not running from this checkout")]
        programs = Supervisor(deployed.socket).programs()
    except FarhandError as error:
        return [fail("supervisor", str(error), "stop it and start it again")]
    running = ok("supervisor", f"process {pid}; {deployed.ctl()} status")
    return [running, *stack.program_rows(programs, read_exits(where))]


def scheduling_rows(seen: Observation) -> list[Row]:
    """Real-time scheduling of the arms that run."""
    return [
        machine.scheduling_row(health.name, health.pid)
        for family, health in seen.health.items()
        if family.startswith("arm-") and health.status != "not_configured"
    ]


if __name__ == "__main__":
    sys.exit(main())
