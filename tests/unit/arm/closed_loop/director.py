"""What happens in a run, and an operator who gets the arm going again after some of it."""

from __future__ import annotations

from collections.abc import Callable

from services.arm.drivers.sim_faults import NO_FAULTS, SimFaults
from tests.unit.arm.closed_loop.world import World

MS = 1_000_000
VERBS = ("arm", "disarm", "engage", "release", "reset", "clear", "home")


class Director:
    """Draws an event every third of a second on average, each from the world's random stream."""

    def __init__(self, world: World, *, driver_faults: bool) -> None:
        self.world = world
        self.events: dict[str, int] = {}
        self._heals_ns = 0
        self._late_ns = 0
        self._idle = 0
        self._deck: list[Callable[[], None]] = []
        weights = [
            (30, self.glide),
            (8, self.sweep),
            (20, self.rest),
            (8, self.jump),
            (10, self.lose_tracking),
            (4, self.blackout),
            (6, self.change_network),
            (2, self.restart_app),
            (1, self.leap_clock),
            (1, self.restart_ingest),
            (1, self.restart_mapper),
            (1, self.restart_arm),
            (2, self.press_stop),
            (1, self.estop_command),
            (4, self.any_order),
            (2, self.stall),
            (1, self.foreign_host),
        ]
        if driver_faults:
            weights += [(5, self.break_robot), (2, self.hang_sdk)]
        for weight, event in weights:
            self._deck += [event] * weight

    def run(self, ticks: int) -> None:
        for _ in range(ticks):
            if self.world.rng.random() < 0.03:
                event = self.world.rng.pick(self._deck)
                self.events[event.__name__] = self.events.get(event.__name__, 0) + 1
                event()
            self._operate()
            late_ns, self._late_ns = self._late_ns, 0
            self.world.tick(late_ns)
            if self._heals_ns and self.world.clock.ns >= self._heals_ns:
                self._heals_ns = 0
                self.world.robot.set_faults(NO_FAULTS)

    def _operate(self) -> None:
        """Lets an arm stand for a while, then does what gets it going."""
        state = self.world.core.machine.state
        self._idle = 0 if state in ("ENGAGED", "HOMING") else self._idle + 1
        if self._idle and self._idle % 130 == 0:
            remedy = {
                "DISARMED": "arm",
                "HOLD": self.world.rng.pick(("engage", "engage", "home")),
                "PROTECTIVE_STOP": "engage",
                "ESTOP_LATCHED": "reset",
                "FAULT": "clear",
            }
            self.world.ask(remedy[state])

    # --- the hand and its network ----------------------------------------------------------------

    def glide(self) -> None:
        self.world.headset.go(self.world.rng.uniform(0.05, 0.6))

    def sweep(self) -> None:
        self.world.headset.go(self.world.rng.uniform(1.0, 2.8))

    def rest(self) -> None:
        self.world.headset.still()

    def jump(self) -> None:
        rng = self.world.rng
        by_m = (rng.uniform(-0.8, 0.8), rng.uniform(-0.3, 0.3), rng.uniform(-0.8, 0.8))
        self.world.headset.jump(by_m, self._soon_ns(20, rng.pick((60, 300))))

    def lose_tracking(self) -> None:
        self.world.headset.lose(self._soon_ns(20, 1500))

    def blackout(self) -> None:
        self.world.headset.network.dead_until_ns = self._soon_ns(50, 1500)

    def change_network(self) -> None:
        network, rng = self.world.headset.network, self.world.rng
        network.loss = rng.pick((0.0, 0.0, 0.05, 0.3))
        network.doubles = rng.pick((0.0, 0.2))
        network.jitter_ns = rng.pick((1, 8, 45)) * MS

    def restart_app(self) -> None:
        self.world.headset.restart_app(self.world.clock.ns)

    def leap_clock(self) -> None:
        self.world.headset.leap_clock()

    # --- processes and operators -----------------------------------------------------------------

    def restart_ingest(self) -> None:
        self.world.restart_ingest()

    def restart_mapper(self) -> None:
        self.world.restart_mapper()

    def restart_arm(self) -> None:
        self.world.restart_arm()

    def stall(self) -> None:
        self._late_ns = int(self.world.rng.pick((30, 90, 150, 400)) * MS)

    def press_stop(self) -> None:
        self.world.headset.press_stop(self._soon_ns(40, 600))

    def estop_command(self) -> None:
        self.world.ask("estop", hard=self.world.rng.random() < 0.3)

    def any_order(self) -> None:
        self.world.ask(self.world.rng.pick(VERBS))

    def foreign_host(self) -> None:
        self.world.core.on_foreign_host(self.world.clock.ns)

    # --- the robot -------------------------------------------------------------------------------

    def break_robot(self) -> None:
        rng = self.world.rng
        faults = rng.pick(
            (
                SimFaults(feedback="silent"),
                SimFaults(feedback="frozen"),
                SimFaults(freeze_motion=True),
                SimFaults(drives_off=True),
                SimFaults(refuse_enable=True),
                SimFaults(raise_in=("command",)),
                SimFaults(raise_in=("state",)),
                SimFaults(faults=("joint 3 hot",)),
            )
        )
        self.world.robot.set_faults(faults)
        self._heals_ns = self._soon_ns(50, 1500)

    def hang_sdk(self) -> None:
        self.world.paused_until_ns = self._soon_ns(20, 800)

    def _soon_ns(self, least_ms: int, most_ms: int) -> int:
        return self.world.clock.ns + self.world.rng.within(least_ms, most_ms) * MS
