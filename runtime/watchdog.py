"""How old is too old: turns the age of the newest sign into fresh, late or lost. Pure.

It must never decide what to do about it, and never read a clock.
"""

from typing import Literal

from runtime.clock import NS_PER_MS

Freshness = Literal["fresh", "late", "lost"]

# Two processes of one host read the same clock, but a reader that took `now` before it drained its
# socket sees signs from shortly after it. More than this is another host's clock or nonsense.
FUTURE_TOLERANCE_NS = 50 * NS_PER_MS


def judge_age(age_ns: int, late_after_ns: int, lost_after_ns: int) -> Freshness:
    """An age at a limit is beyond it: the limit is the first instant at which something must act.

    Args:
        age_ns: age of the newest sign; negative counts as 0.
        late_after_ns: first age that is late.
        lost_after_ns: first age that is lost; at least `late_after_ns`.
    """
    if age_ns >= lost_after_ns:
        return "lost"
    return "late" if age_ns >= late_after_ns else "fresh"


class Watchdog:
    """Remembers the newest sign of one stream.

    Attributes:
        future_signs: signs refused because they lay in the future.

    Args:
        late_after_ns: first age that is late.
        lost_after_ns: first age that is lost.

    Raises:
        ValueError: not 0 < late_after_ns <= lost_after_ns.
    """

    def __init__(self, late_after_ns: int, lost_after_ns: int) -> None:
        if not 0 < late_after_ns <= lost_after_ns:
            raise ValueError(f"need 0 < late ({late_after_ns}) <= lost ({lost_after_ns})")
        self.future_signs = 0
        self._late_after_ns = late_after_ns
        self._lost_after_ns = lost_after_ns
        self._t_sign_ns: int | None = None

    def feed(self, t_sign_ns: int, now_ns: int) -> bool:
        """Takes a sign stamped `t_sign_ns`; returns whether it counted.

        An older sign than the newest is no news. One from the future is refused: it would keep the
        stream fresh after its death.
        """
        if t_sign_ns > now_ns + FUTURE_TOLERANCE_NS:
            self.future_signs += 1
            return False
        if self._t_sign_ns is not None and t_sign_ns <= self._t_sign_ns:
            return False
        self._t_sign_ns = t_sign_ns
        return True

    def reset(self) -> None:
        """Forgets every sign: lost until the next."""
        self._t_sign_ns = None

    def age_ns(self, now_ns: int) -> int | None:
        """Age of the newest sign, at least 0; None before the first."""
        return None if self._t_sign_ns is None else max(0, now_ns - self._t_sign_ns)

    def judge(self, now_ns: int) -> Freshness:
        """The stream's state now; lost before the first sign."""
        age_ns = self.age_ns(now_ns)
        if age_ns is None:
            return "lost"
        return judge_age(age_ns, self._late_after_ns, self._lost_after_ns)

    def next_change_ns(self, now_ns: int) -> int | None:
        """The instant at which the state changes if nothing more comes; None if it is lost."""
        if self._t_sign_ns is None:
            return None
        late_ns = self._t_sign_ns + self._late_after_ns
        lost_ns = self._t_sign_ns + self._lost_after_ns
        if now_ns < late_ns:
            return late_ns
        return lost_ns if now_ns < lost_ns else None
