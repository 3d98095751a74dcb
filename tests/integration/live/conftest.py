"""Stacks that the tests here share, as each start costs a second; a test brings its arm to HOLD."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.integration.live.rig import PIPE, Rig

TRIES = 3


@pytest.fixture(autouse=True)
def _nothing_left_running() -> Iterator[None]:
    """As for every other test, but a process of a shared stack may have been started anew."""
    yield
    ours = {p.pid for rig in Rig.running for p in rig.stack.processes.values()}
    orphans = _children() - ours
    assert not orphans, f"child processes left running: {orphans}"


def _children() -> set[int]:
    tasks = Path("/proc/self/task").glob("*/children")
    return {int(pid) for task in tasks for pid in task.read_text().split()}


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool:
    """A failure counts only on a machine that kept time meanwhile.

    Where samples come late an arm is meant to brake, and most tests then ask for something else
    than what the arm was given. Such a test is run again, TRIES times in all.
    """
    names = inspect.signature(pyfuncitem.obj).parameters
    args = {name: pyfuncitem.funcargs[name] for name in names}
    for _ in range(TRIES - 1):
        for rig in Rig.running:
            rig.forget_stalls()
        try:
            pyfuncitem.obj(**args)
        except AssertionError:
            if not any(rig.stalled for rig in Rig.running):
                raise
        else:
            return True
    pyfuncitem.obj(**args)
    return True


class Stacks:
    """At most one stack is up, and only until another one is needed: idle ones cost time too."""

    def __init__(self) -> None:
        self._name = ""
        self._open = ExitStack()

    def get(self, name: str, make: Callable[[], Rig]) -> Rig:
        """The stack of that name, started by `make` if it is not the one that runs."""
        if name != self._name:
            self.close()
            self.rig = self._open.enter_context(make())
            self._name = name
        return self.rig

    def close(self) -> None:
        """Ends what runs."""
        self._name = ""
        self._open.close()


@pytest.fixture(scope="package")
def stacks() -> Iterator[Stacks]:
    """Shared by the modules here, as each start costs a second."""
    stacks = Stacks()
    yield stacks
    stacks.close()


@pytest.fixture(scope="package")
def faults_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Faults of the left arm of `duo`: written and renamed by tests, deleted to heal."""
    return tmp_path_factory.mktemp("faults") / "faults.json"


@pytest.fixture
def duo(stacks: Stacks, faults_file: Path) -> Rig:
    """The whole pipe, and nobody at the headset.

    Its arms differ, so that one start serves both ways to engage: the right one engages on
    tracking and arms by itself, as in the simulator configuration; the left one as on hardware.
    """
    left = {
        "MAPPER_LEFT__ENGAGE_ON": "command",
        "ARM_LEFT__AUTO_ARM": "false",
        "ARM_LEFT__SIM_FAULTS_FILE": str(faults_file),
    }
    return stacks.get("duo", lambda: Rig(**left))


@pytest.fixture
def operated(stacks: Stacks) -> Rig:
    """The simulator configuration: both arms, and the background operator who drives them."""
    return stacks.get("operated", lambda: Rig((*PIPE, "sim-operator")))


@pytest.fixture
def odd(stacks: Stacks) -> Rig:
    """Right: absolute, with the rest point on the home pose. Left: slow, starts outside its box."""
    right = {
        "MAPPER_RIGHT__MODE": "absolute",
        "MAPPER_RIGHT__ROTATION_OFFSET_DEG": "[0, 85, 0]",
        "MAPPER_RIGHT__POSITION_OFFSET_M": "[-0.05, 0.1125, 0.4]",
    }
    left = {
        "ARM_LEFT__HOME_P_M": "[0.25, 0.1, 0.25]",
        "ARM_LEFT__Y_MAX_MM": "60",
        "ARM_LEFT__TCP_MAX_MPS": "0.25",
    }
    return stacks.get("odd", lambda: Rig(**right, **left, MAPPER__ENGAGE_ON="command"))
