"""python -m tools.arm VERB [right|left]: look at an arm and give it orders.

Every order is answered by the arm itself; exit code 0 only if it said ok.
"""

from __future__ import annotations

import argparse
import sys
from typing import Final

from proto.reasons import SIDES, Side
from runtime.errors import FarhandError
from tools.advice import advice
from tools.calibrate import CALIBRATIONS, calibrate
from tools.link import ArmLink
from tools.pedal import run_pedal

ONE_SIDE: Final = ("arm", "engage", "release", "clear", "home")
ALL_SIDES: Final = ("reset", "estop", "disarm")


def main(argv: list[str] | None = None) -> int:
    """Runs one verb; returns the exit code."""
    options = build_parser().parse_args(argv)
    try:
        return _run(options)
    except FarhandError as error:
        refusal = str(error)
    print(refusal, file=sys.stderr)
    return 2


def build_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.arm", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb, about in (
        ("status", "what each arm does, why, and what to do"),
        ("arm", "drives on, hold"),
        ("disarm", "from HOLD: send nothing more (drives stay on)"),
        ("engage", "follow the hand"),
        ("release", "stop following; only an engage goes on"),
        ("pedal", "hold-to-run with the space bar"),
        ("reset", "after an e-stop or a protective stop"),
        ("clear", "after a fault"),
        ("home", "slowly to the home pose"),
        ("estop", "stop and latch"),
    ):
        added = verbs.add_parser(verb, help=about)
        added.add_argument("side", nargs="?", choices=SIDES)
        if verb in ("disarm", "clear"):
            added.add_argument(
                "--confirm-drop", action="store_true", help="the arm may fall: hold it"
            )
        if verb == "estop":
            added.add_argument(
                "--hard", action="store_true", help="the vendor's stop: a loaded arm may sink"
            )
    added = verbs.add_parser("calibrate", help="origin or heading of the operator")
    added.add_argument("what", choices=CALIBRATIONS)
    added.add_argument("side", nargs="?", choices=SIDES)
    return parser


def _run(options: argparse.Namespace) -> int:
    if options.verb == "status":
        return _status(options.side)
    sides = [options.side] if options.side else _default_sides(options.verb)
    if options.verb == "pedal" and sides:
        return run_pedal(sides[0])
    if options.verb == "calibrate" and sides:
        return calibrate(options.what, sides[0])
    results = [_order(side, options) for side in sides]
    return 0 if results and all(results) else 1


def _default_sides(verb: str) -> list[Side]:
    """reset, estop and disarm without a side act on all; the others on the one that runs."""
    running = [side for side in SIDES if _runs(side)]
    if verb in ALL_SIDES:
        return running or list(SIDES)
    if len(running) == 1:
        return running
    print("two arms run: say right or left" if running else "no arm runs", file=sys.stderr)
    return []


def _runs(side: Side) -> bool:
    with ArmLink(side) as link:
        return link.state(400) is not None


def _order(side: Side, options: argparse.Namespace) -> bool:
    args = {key: True for key in ("confirm_drop", "hard") if getattr(options, key, False)}
    with ArmLink(side) as link:
        answer = link.estop(args) if options.verb == "estop" else link.send(options.verb, args)
        print(f"{side}: {options.verb}: {answer}")
        state = link.state(400)
        if state is not None:
            print(advice(state))
    return answer == "ok"


def _status(only: Side | None) -> int:
    live = 0
    for side in SIDES if only is None else (only,):
        with ArmLink(side) as link:
            state = link.state(600)
        if state is not None:
            live += 1
            print(advice(state))
        else:
            print(f"{side}: no arm runs on this side")
    return 0 if live else 1


if __name__ == "__main__":
    sys.exit(main())
