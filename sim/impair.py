"""What a network does to packets: settings, named profiles and run-time changes. Pure data, no I/O.

The profiles follow one-way delays above the moving minimum: Wi-Fi 6, Wi-Fi 5 and WAN are models,
`bad` has the percentiles measured on a congested 2.4 GHz link (p50 4, p90 13, p99 41 ms, stalls of
100 to 900 ms about once a minute).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, Literal

from sim.rng import Rng

JitterKind = Literal["none", "lognormal", "gamma"]
Range = tuple[float, float]


class ImpairError(ValueError):
    """A setting that cannot be; the text names the valid choices."""


@dataclass(frozen=True, slots=True)
class Burst:
    """Gilbert-Elliott loss: a good state and a bad one, changed with a fixed chance per packet.

    In the good state a packet is lost with Settings.loss_ratio, in the bad state with this one.
    """

    enter_ratio: float
    exit_ratio: float
    loss_ratio: float = 1.0


@dataclass(frozen=True, slots=True)
class Jitter:
    """Extra delay.

    lognormal: a = median in ms, b = sigma of the logarithm. gamma: a = shape, b = scale in ms.
    """

    kind: JitterKind = "none"
    a: float = 0.0
    b: float = 0.0

    def draw_ms(self, rng: Rng) -> float:
        """One extra delay in ms, >= 0."""
        if self.kind == "lognormal":
            return rng.lognormal(self.a, self.b)
        if self.kind == "gamma":
            return rng.gamma(self.a, self.b)
        return 0.0


@dataclass(frozen=True, slots=True)
class Stall:
    """The link holds everything for `length_ms`; starts are `every_s` apart; both uniform."""

    every_s: Range
    length_ms: Range


@dataclass(frozen=True, slots=True)
class Settings:
    """One direction of a link. Ratios are chances per packet, 0 to 1."""

    loss_ratio: float = 0.0
    burst: Burst | None = None
    delay_ms: float = 0.0
    jitter: Jitter = Jitter()
    duplicate_ratio: float = 0.0
    reorder_ratio: float = 0.0
    reorder_ms: float = 30.0  # > one frame at 50 Hz, so that a held packet is really overtaken
    corrupt_ratio: float = 0.0
    rate_kbps: float = 0.0  # payload bits; 0 = no limit
    stall: Stall | None = None
    blackhole: bool = False
    windows_s: tuple[Range, ...] = ()  # blackhole from, to; since the link began


PROFILES: Final = MappingProxyType(
    {
        "none": Settings(),
        "wifi6": Settings(delay_ms=1.0, jitter=Jitter("lognormal", 1.0, 0.94), loss_ratio=0.001),
        "wifi5": Settings(
            delay_ms=2.0,
            jitter=Jitter("gamma", 1.5, 2.0),
            loss_ratio=0.003,
            stall=Stall((2.0, 8.0), (30.0, 90.0)),  # channel scans
        ),
        "wan": Settings(
            delay_ms=30.0,
            jitter=Jitter("gamma", 2.0, 5.0),
            loss_ratio=0.008,
            burst=Burst(0.005, 0.4),  # with loss_ratio: 2 % in all, in runs of 2.5
            stall=Stall((2.0, 10.0), (20.0, 60.0)),
        ),
        "bad": Settings(
            delay_ms=1.5,
            jitter=Jitter("lognormal", 4.0, 0.95),
            loss_ratio=0.01,
            burst=Burst(0.005, 0.25),
            stall=Stall((20.0, 60.0), (100.0, 900.0)),
        ),
    }
)

Setter = Callable[[Settings, float], Settings]
_RATIOS: Final[Mapping[str, Setter]] = MappingProxyType(
    {
        "loss": lambda settings, value: replace(settings, loss_ratio=value),
        "duplicate": lambda settings, value: replace(settings, duplicate_ratio=value),
        "reorder": lambda settings, value: replace(settings, reorder_ratio=value),
        "corrupt": lambda settings, value: replace(settings, corrupt_ratio=value),
    }
)
_AMOUNTS: Final[Mapping[str, Setter]] = MappingProxyType(
    {
        "delay-ms": lambda settings, value: replace(settings, delay_ms=value),
        "reorder-ms": lambda settings, value: replace(settings, reorder_ms=value),
        "rate-kbps": lambda settings, value: replace(settings, rate_kbps=value),
    }
)
SETTING_NAMES: Final = (*_RATIOS, *_AMOUNTS, "burst", "jitter", "stalls", "blackhole", "profile")


def profile(name: str) -> Settings:
    """The named profile.

    Raises:
        ImpairError: no such profile.
    """
    if name not in PROFILES:
        raise ImpairError(f"profile {name!r} unknown; choose from {', '.join(PROFILES)}")
    return PROFILES[name]


def number(name: str, text: str, high: float = 1e9) -> float:
    """`text` as a number in 0...high.

    Raises:
        ImpairError: not a number, or out of range.
    """
    try:
        value = float(text)
    except ValueError:
        raise ImpairError(f"{name}: {text!r} is not a number") from None
    if not 0.0 <= value <= high:
        raise ImpairError(f"{name}: {text} is outside 0...{high:g}")
    return value


def changed(settings: Settings, name: str, args: list[str]) -> Settings:
    """`settings` with one of SETTING_NAMES set from words, as `loss 0.3` or `jitter gamma 1.5 2`.

    Raises:
        ImpairError: unknown name, wrong number of words, or a value out of range.
    """
    if name in _RATIOS and len(args) == 1:
        return _RATIOS[name](settings, number(name, args[0], 1.0))
    if name in _AMOUNTS and len(args) == 1:
        return _AMOUNTS[name](settings, number(name, args[0]))
    if name == "profile" and len(args) == 1:
        return profile(args[0])
    if name == "blackhole" and args in (["on"], ["off"]):
        return replace(settings, blackhole=args == ["on"])
    if name in ("burst", "jitter", "stalls"):
        return _changed_model(settings, name, args)
    raise ImpairError(f"{' '.join([name, *args])!r} not understood; {USAGE}")


def _changed_model(settings: Settings, name: str, args: list[str]) -> Settings:
    if args in (["off"], ["none"]):
        if name == "jitter":
            return replace(settings, jitter=Jitter())
        return replace(settings, burst=None) if name == "burst" else replace(settings, stall=None)
    if name == "jitter" and len(args) == 3:
        return replace(settings, jitter=_jitter(args))
    if name == "burst" and len(args) in (2, 3):
        return replace(settings, burst=Burst(*(number(name, text, 1.0) for text in args)))
    if name == "stalls" and len(args) == 4:
        low_s, high_s, low_ms, high_ms = (number(name, text) for text in args)
        if not (0.0 < low_s <= high_s and low_ms <= high_ms):
            raise ImpairError("stalls: needs 0 < FROM_S <= TO_S and FROM_MS <= TO_MS")
        return replace(settings, stall=Stall((low_s, high_s), (low_ms, high_ms)))
    raise ImpairError(f"{' '.join([name, *args])!r} not understood; {USAGE}")


def _jitter(args: list[str]) -> Jitter:
    kind, a, b = args[0], number("jitter", args[1]), number("jitter", args[2])
    if kind == "lognormal":
        return Jitter("lognormal", a, b)
    if kind == "gamma" and a >= 1.0:
        return Jitter("gamma", a, b)
    raise ImpairError("jitter: lognormal MEDIAN_MS SIGMA, gamma SHAPE(>=1) SCALE_MS, or none")


USAGE: Final = (
    "valid: profile NAME, loss R, burst ENTER EXIT [LOSS] | off, delay-ms N, "
    "jitter lognormal MEDIAN_MS SIGMA | gamma SHAPE SCALE_MS | none, duplicate R, reorder R, "
    "reorder-ms N, corrupt R, rate-kbps N, stalls FROM_S TO_S FROM_MS TO_MS | off, blackhole on|off"
)
