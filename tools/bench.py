"""`python -m tools.bench NAME [--full]`: progress on stderr, one JSON object as the last line.

Owns the frame of a bench (name, conditions, output), never its figures.
"""

import importlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from tools.bench_conditions import conditions
from tools.progress import say

# Each module has rows(full), which says its progress and returns the rows of the table, and may
# have closing(full), which returns what holds for all of them.
BENCHES: dict[str, str] = {
    "footprint": "tools.bench_footprint",
    "pipeline": "tools.bench_pipeline",
    "tick": "tools.bench_tick",
}

EXIT_USAGE = 2


class Bench(NamedTuple):
    """What a bench's module offers."""

    rows: Callable[[bool], Sequence[Mapping[str, object]]]
    closing: Callable[[bool], Mapping[str, object]]


def load(name: str) -> Bench:
    """The bench of that name; only it is imported."""
    module = importlib.import_module(BENCHES[name])
    return Bench(module.rows, getattr(module, "closing", lambda _: {}))


def main(args: Sequence[str], loader: Callable[[str], Bench] = load) -> int:
    """Runs the bench named on the command line; returns the exit code."""
    names = [arg for arg in args if arg != "--full"]
    if len(names) != 1 or names[0] not in BENCHES:
        wanted = " ".join(names) or "nothing"
        say(f"no bench named {wanted!r}: python -m tools.bench {'|'.join(BENCHES)} [--full]")
        return EXIT_USAGE
    full = "--full" in args
    before = conditions(full)
    bench = loader(names[0])
    rows = list(bench.rows(full))
    result = {"bench": names[0], "conditions": before, "rows": rows, **bench.closing(full)}
    print(json.dumps(result), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
