"""Writes proto/vectors: golden packets for authors of senders and receivers in any language.

The bytes are packed here by hand from the byte tables of docs/specs/rctp.md, never by our codec,
so that codec and vectors check each other. `--check` compares and writes nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Final

from tools.vectors import feedback_vectors, hand_vectors
from tools.vectors.vector import Vector

VECTORS_DIR: Final = Path(__file__).resolve().parent.parent / "proto" / "vectors"
ABOUT: Final = (
    "Golden packets of docs/specs/rctp.md. Each entry names a .bin file beside this one and either"
    " the values a receiver decodes (expect) or the reason it drops the packet for (reject)."
    " estop_bit is whether a hand packet asks for an e-stop, rejected or not. Numbers are equal to"
    " within tolerance. Trailer tags: HMAC-SHA256 with signing_key_hex over bytes 0..60 and the"
    " destination port dst_port as u16 little-endian, first 16 bytes."
)


def rendered() -> dict[str, bytes]:
    """Every file of the vectors directory by name."""
    vectors = (*hand_vectors.hand_vectors(), *feedback_vectors.feedback_vectors())
    index = {
        "about": ABOUT,
        "tolerance": 1e-6,
        "signing_key_hex": hand_vectors.SIGNING_KEY.hex(),
        "vectors": [_entry(vector) for vector in vectors],
    }
    files = {f"{vector.name}.bin": vector.data for vector in vectors}
    if len(files) != len(vectors):
        raise ValueError("two vectors share a name")
    files["index.json"] = (json.dumps(index, indent=1, allow_nan=False) + "\n").encode()
    return files


def _entry(vector: Vector) -> dict[str, object]:
    entry: dict[str, object] = {
        "file": f"{vector.name}.bin",
        "packet": vector.packet,
        "what": vector.what,
        "bytes": len(vector.data),
        "hex": vector.data.hex(),
    }
    if vector.estop_bit is not None:
        entry["estop_bit"] = vector.estop_bit
    if vector.dst_port is not None:
        entry["dst_port"] = vector.dst_port
    entry["expect" if vector.reject is None else "reject"] = vector.reject or vector.expect
    return entry


def differences(directory: Path) -> list[str]:
    """Names of files in `directory` that are missing, different or left over."""
    wanted = rendered()
    present = {path.name for path in directory.iterdir()} if directory.is_dir() else set()
    wrong = [
        name
        for name, data in wanted.items()
        if name not in present or (directory / name).read_bytes() != data
    ]
    return sorted({*wrong, *(present - wanted.keys())})


def write(directory: Path) -> None:
    """Make `directory` hold exactly the vectors."""
    directory.mkdir(parents=True, exist_ok=True)
    wanted = rendered()
    for path in directory.iterdir():
        if path.name not in wanted:
            path.unlink()
    for name, data in wanted.items():
        (directory / name).write_bytes(data)


def main(argv: list[str] | None = None) -> int:
    """Exit code: 1 if --check found a difference."""
    parser = argparse.ArgumentParser(prog="python -m tools.gen_vectors", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only; exit 1 on a difference")
    if not parser.parse_args(argv).check:
        write(VECTORS_DIR)
        return 0
    wrong = differences(VECTORS_DIR)
    if wrong:
        print("out of date, run python -m tools.gen_vectors:", *wrong, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
