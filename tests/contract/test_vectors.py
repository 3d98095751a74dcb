"""The golden packets through the codecs, from the committed files alone as any author would."""

from __future__ import annotations

import hmac
import json
import struct
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from proto import feedback, rctp
from tools import gen_vectors

INDEX: dict[str, Any] = json.loads((gen_vectors.VECTORS_DIR / "index.json").read_text())
VECTORS: list[dict[str, Any]] = INDEX["vectors"]
HAND = [vector for vector in VECTORS if vector["packet"] == "hand"]
FEEDBACK = [vector for vector in VECTORS if vector["packet"] == "feedback"]
# Tighter than the tolerance other languages are given: both sides here are the same doubles.
TOLERANCE = 1e-12


def ids(vector: dict[str, Any]) -> str:
    """The name of a vector, for the test report."""
    return str(vector["file"])


def data_of(vector: dict[str, Any]) -> bytes:
    """The bytes of the .bin file."""
    path = gen_vectors.VECTORS_DIR / str(vector["file"])
    return path.read_bytes()


def plain(value: object) -> object:
    """`value` in the terms of JSON: lists for tuples, hex for bytes."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    return value.hex() if isinstance(value, bytes) else value


def assert_same(got: object, expected: object) -> None:
    """Equal in keys, types and values, floats to within TOLERANCE."""
    assert type(got) is type(expected), (got, expected)
    if isinstance(got, dict) and isinstance(expected, dict):
        assert got.keys() == expected.keys()
        for key, value in got.items():
            assert_same(value, expected[key])
    elif isinstance(got, list) and isinstance(expected, list):
        assert len(got) == len(expected)
        for one, other in zip(got, expected, strict=True):
            assert_same(one, other)
    elif isinstance(got, float):
        assert got == pytest.approx(expected, rel=TOLERANCE, abs=TOLERANCE)
    else:
        assert got == expected


@pytest.mark.parametrize("vector", HAND, ids=ids)
def test_hand_packet(vector: dict[str, Any]) -> None:
    data = data_of(vector)
    assert rctp.estop_bit(data) is vector["estop_bit"]
    if "reject" in vector:
        with pytest.raises(rctp.RctpError) as caught:
            rctp.decode(data)
        assert caught.value.reason == vector["reject"]
    else:
        assert_same(plain(asdict(rctp.decode(data))), vector["expect"])


@pytest.mark.parametrize("vector", FEEDBACK, ids=ids)
def test_feedback_packet(vector: dict[str, Any]) -> None:
    data = data_of(vector)
    if "reject" in vector:
        with pytest.raises(feedback.FeedbackError) as caught:
            feedback.decode(data)
        assert caught.value.reason == vector["reject"]
    else:
        assert_same(plain(asdict(feedback.decode(data))), vector["expect"])


@pytest.mark.parametrize("vector", [v for v in HAND if "dst_port" in v], ids=ids)
def test_tags_verify_as_documented(vector: dict[str, Any]) -> None:
    data = data_of(vector)
    key = bytes.fromhex(INDEX["signing_key_hex"])
    tag = hmac.digest(key, data[:61] + struct.pack("<H", vector["dst_port"]), "sha256")[:16]
    assert tag == data[61:77]
    assert vector["expect"]["trailer"]["tag"] == tag.hex()


def test_encoding_what_was_decoded_gives_the_same_bytes() -> None:
    exact = ("hand_good", "hand_good_identity", "hand_estop", "hand_signed_enable")
    for name in exact:
        data = (gen_vectors.VECTORS_DIR / f"{name}.bin").read_bytes()
        assert rctp.encode(rctp.decode(data)) == data
    for name in ("feedback_good", "feedback_empty", "feedback_left_eight_joints"):
        data = (gen_vectors.VECTORS_DIR / f"{name}.bin").read_bytes()
        assert feedback.encode(feedback.decode(data)) == data


def test_index_and_files_agree() -> None:
    assert gen_vectors.differences(gen_vectors.VECTORS_DIR) == []
    for vector in VECTORS:
        assert data_of(vector).hex() == vector["hex"]
        assert len(data_of(vector)) == vector["bytes"]


def test_every_codec_reason_has_a_vector() -> None:
    seen = {vector["reject"] for vector in HAND if "reject" in vector}
    assert seen == {"short", "bad_magic", "not_finite", "bad_quat", "out_of_range"}
    seen = {vector["reject"] for vector in FEEDBACK if "reject" in vector}
    assert seen == set(feedback.FEEDBACK_REJECT_REASONS)


def test_check_names_what_is_missing_changed_or_left_over(tmp_path: Path) -> None:
    gen_vectors.write(tmp_path)
    assert gen_vectors.differences(tmp_path) == []
    (tmp_path / "hand_good.bin").write_bytes(b"other")
    (tmp_path / "hand_signed.bin").unlink()
    (tmp_path / "left_over.bin").write_bytes(b"")
    wrong = ["hand_good.bin", "hand_signed.bin", "left_over.bin"]
    assert gen_vectors.differences(tmp_path) == wrong
    gen_vectors.write(tmp_path)
    assert gen_vectors.differences(tmp_path) == []
    assert len(gen_vectors.differences(tmp_path / "nowhere")) == len(VECTORS) + 1


def test_check_option(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(gen_vectors, "VECTORS_DIR", tmp_path / "vectors")
    assert gen_vectors.main(["--check"]) == 1
    assert gen_vectors.main([]) == 0
    assert gen_vectors.main(["--check"]) == 0
