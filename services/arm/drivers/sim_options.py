"""The option table of the simulated arm: names, defaults, bounds. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import isfinite
from typing import Any, Final, get_args

from runtime.errors import ConfigError
from runtime.se3 import Vec3
from services.arm.drivers.sim_motion import Servo, SimServo


@dataclass(frozen=True, slots=True)
class SimOptions:
    """The driver's table in the configuration; every key is optional.

    Attributes:
        home_p_base_tool_m, home_rpy_base_tool_deg, home_gripper_ratio: where the tool starts. 85
            and not 90 degrees of pitch: no simulator should start in the lock of Euler angles.
        v_max_mps, w_max_radps, gripper_max_per_s: what the arm can do; by default faster than any
            limit the loop above sets in a simulator (1 m/s), so that the loop's limits rule.
        a_stop_mps2, alpha_stop_radps2: how it brakes on stop().
        servo, servo_lag_s: `first_order` with that time constant, or a pure `delay`.
        feedback_period_s, feedback_age_s: a pose is measured every period and arrives age later.
        reach_max_m: targets further from the base are rejected.
        rate_max_hz: declared in info only.
        drops_arm: declared verbs that would drop the arm (it never falls; they need confirmation).
        clear_after_estop: after stop("ESTOP") the arm takes nothing before clear().
        faults_file: see sim_faults; "" for none.
    """

    home_p_base_tool_m: Vec3 = (0.25, 0.0, 0.25)
    home_rpy_base_tool_deg: Vec3 = (0.0, 85.0, 0.0)
    home_gripper_ratio: float = 1.0
    v_max_mps: float = 3.0
    w_max_radps: float = 20.0
    gripper_max_per_s: float = 4.0
    a_stop_mps2: float = 5.0
    alpha_stop_radps2: float = 20.0
    servo: Servo = "first_order"
    servo_lag_s: float = 0.02
    feedback_period_s: float = 0.01
    feedback_age_s: float = 0.0
    reach_max_m: float = 1.5
    rate_max_hz: float = 200.0
    drops_arm: tuple[str, ...] = ()
    clear_after_estop: bool = False
    faults_file: str = ""

    def motion(self) -> SimServo:
        """The part that the motion model takes."""
        return SimServo(
            v_max_mps=self.v_max_mps,
            w_max_radps=self.w_max_radps,
            gripper_max_per_s=self.gripper_max_per_s,
            a_stop_mps2=self.a_stop_mps2,
            alpha_stop_radps2=self.alpha_stop_radps2,
            servo=self.servo,
            lag_s=self.servo_lag_s,
        )


_DEFAULTS: Final = SimOptions()
_CHOICES: Final = get_args(Servo)
_MAY_BE_ZERO: Final = ("servo_lag_s", "feedback_age_s", "home_gripper_ratio")


def parse(options: Mapping[str, object]) -> SimOptions:
    """SimOptions of a configuration table; whole numbers pass for reals, lists for tuples.

    Raises:
        ConfigError: naming the key and what it takes.
    """
    known = [field.name for field in fields(SimOptions)]
    checked: dict[str, Any] = {}
    for key, value in options.items():
        if key not in known:
            raise ConfigError(f"sim driver has no option {key!r}; choose from: {', '.join(known)}")
        checked[key] = _checked(key, value)
    return SimOptions(**checked)


def _checked(key: str, value: object) -> object:
    if key == "servo":
        return _one_of(key, value)
    default = getattr(_DEFAULTS, key)
    if isinstance(default, bool | str):
        if type(value) is not type(default):
            kind = "text" if isinstance(default, str) else "true or false"
            raise ConfigError(f"sim driver option {key} must be {kind}, not {value!r}")
        return value
    if isinstance(default, tuple):
        return _texts(key, value) if key == "drops_arm" else _triple(key, value)
    number = _number(key, value)
    if number < 0.0 or (number == 0.0 and key not in _MAY_BE_ZERO):
        raise ConfigError(f"sim driver option {key} must be above 0, not {value!r}")
    return number


def _one_of(key: str, value: object) -> object:
    if value not in _CHOICES:
        raise ConfigError(f"sim driver option {key} must be one of: {', '.join(_CHOICES)}")
    return value


def _number(key: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise ConfigError(f"sim driver option {key} must be a number, not {value!r}")
    return float(value)


def _triple(key: str, value: object) -> Vec3:
    if not isinstance(value, list | tuple) or len(value) != 3:
        raise ConfigError(f"sim driver option {key} must be three numbers, not {value!r}")
    return (_number(key, value[0]), _number(key, value[1]), _number(key, value[2]))


def _texts(key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
        raise ConfigError(f"sim driver option {key} must be a list of texts, not {value!r}")
    return tuple(value)
