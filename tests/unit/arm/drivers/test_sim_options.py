"""services.arm.drivers.sim_options: every refusal names the key."""

from __future__ import annotations

import pytest

from runtime.errors import ConfigError
from services.arm.drivers.sim_options import SimOptions, parse


def test_empty_is_the_default() -> None:
    assert parse({}) == SimOptions()


def test_all_kinds_of_options_are_taken() -> None:
    options = parse(
        {
            "home_p_base_tool_m": [0.3, -1, 0.2],
            "v_max_mps": 1,
            "servo": "delay",
            "servo_lag_s": 0,
            "drops_arm": ["disable"],
            "clear_after_estop": True,
            "faults_file": "run/faults.json",
        }
    )
    assert options == SimOptions(
        home_p_base_tool_m=(0.3, -1.0, 0.2),
        v_max_mps=1.0,
        servo="delay",
        servo_lag_s=0.0,
        drops_arm=("disable",),
        clear_after_estop=True,
        faults_file="run/faults.json",
    )
    motion = options.motion()
    assert (motion.v_max_mps, motion.servo, motion.lag_s) == (1.0, "delay", 0.0)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("speed", 1.0, "no option 'speed'; choose from: .*v_max_mps"),
        ("servo", "pid", "servo must be one of: first_order, delay"),
        ("v_max_mps", "1", "v_max_mps must be a number"),
        ("v_max_mps", True, "v_max_mps must be a number"),
        ("v_max_mps", float("nan"), "v_max_mps must be a number"),
        ("v_max_mps", 0, "v_max_mps must be above 0"),
        ("servo_lag_s", -0.01, "servo_lag_s must be above 0"),
        ("home_p_base_tool_m", [0.1, 0.2], "home_p_base_tool_m must be three numbers"),
        ("home_p_base_tool_m", [0.1, 0.2, "x"], "home_p_base_tool_m must be a number"),
        ("drops_arm", "disable", "drops_arm must be a list of texts"),
        ("drops_arm", [1], "drops_arm must be a list of texts"),
        ("clear_after_estop", 1, "clear_after_estop must be true or false"),
        ("faults_file", 1, "faults_file must be text"),
    ],
)
def test_a_bad_option_is_refused_by_name(key: str, value: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse({key: value})
