"""services.arm.pacers: names, and what every pacer promises."""

from __future__ import annotations

import pytest

from runtime.errors import ConfigError
from runtime.se3 import quat_from_rotvec
from services.arm.pacers import RESPONSES, make
from services.arm.pacers.base import Pacer, PacerOptions
from tests.unit.arm.pacers.samples import MS, T0_NS, sample

OPTIONS = PacerOptions()


@pytest.fixture(params=RESPONSES)
def pacer(request: pytest.FixtureRequest) -> Pacer:
    return make(str(request.param), OPTIONS)


@pytest.mark.parametrize("response", ["normal", "smooth", ""])
def test_an_unknown_response_lists_what_exists(response: str) -> None:
    with pytest.raises(ConfigError, match=f"'{response}' does not exist; choose one of: quick, l"):
        make(response, OPTIONS)


def test_before_the_first_sample_there_is_nothing(pacer: Pacer) -> None:
    assert pacer.tick(T0_NS) is None


def test_a_reseated_sample_is_given_to_the_last_bit(pacer: Pacer) -> None:
    for k in range(20):
        pacer.push(sample(k))
        pacer.tick(T0_NS + 20 * k * MS)
    anchor = sample(20, (0.1, 0.2, 0.3), quat_from_rotvec((0.3, -0.1, 0.2)))
    pacer.reseat(anchor)
    for k in range(20, 22):
        out = pacer.tick(T0_NS + 20 * k * MS)
        assert out is not None
        assert (out.p_m, out.q_xyzw) == (anchor.p_m, anchor.q_xyzw)


def test_after_reset_there_is_nothing(pacer: Pacer) -> None:
    pacer.reseat(sample(0))
    pacer.push(sample(1))
    pacer.reset()
    assert pacer.tick(T0_NS) is None


def test_a_standing_hand_is_a_standing_target(pacer: Pacer) -> None:
    p_m, q_xyzw = (0.123, -0.456, 0.789), quat_from_rotvec((0.3, -0.1, 0.2))
    outs = []
    for k in range(40):
        pacer.push(sample(k, p_m, q_xyzw))
        outs.append(pacer.tick(T0_NS + 20 * k * MS))
    assert outs[-1] is not None
    assert outs[-1].p_m == pytest.approx(p_m, abs=1e-12)
    assert outs[-1].q_xyzw == pytest.approx(q_xyzw, abs=1e-12)
    assert not outs[-1].predicting
    assert pacer.glitches_rejected == 0


def test_without_samples_the_last_pose_stays(pacer: Pacer) -> None:
    for k in range(20):
        pacer.push(sample(k))
        pacer.tick(T0_NS + 20 * k * MS)
    outs = [pacer.tick(T0_NS + (400 + 10 * k) * MS) for k in range(30)]
    assert outs[-1] is not None
    assert outs[-1] == outs[-10]
    assert outs[-1].p_m[0] >= 0.01
