"""A clock that tests turn by hand; its sleep turns it too, with an overshoot as real ones have."""


class FakeClock:
    """Starts far from 0, so that code which takes 0 for "never" is found out."""

    def __init__(self, now_ns: int = 5_000_000_000, overshoot_ns: int = 0) -> None:
        self.t_ns = now_ns
        self.overshoot_ns = overshoot_ns
        self.sleeps_s: list[float] = []

    def now_ns(self) -> int:
        """The present instant, unchanged by reading it."""
        return self.t_ns

    def advance_ms(self, step_ms: float) -> None:
        """Turns the clock on."""
        self.t_ns += round(step_ms * 1e6)

    def sleep(self, seconds_s: float) -> None:
        """Stands for time.sleep."""
        self.sleeps_s.append(seconds_s)
        self.t_ns += round(seconds_s * 1e9) + self.overshoot_ns
