"""The workspace that an arm's settings describe."""

from __future__ import annotations

from runtime.settings import ArmSettings
from runtime.workspace import Zone

MM: float = 1e-3


def zone_of(arm: ArmSettings) -> Zone:
    """Box and shell of `arm`, in metres in its own base frame. reach_max_mm 0: no shell."""
    return Zone(
        (arm.x_min_mm * MM, arm.y_min_mm * MM, arm.z_min_mm * MM),
        (arm.x_max_mm * MM, arm.y_max_mm * MM, arm.z_max_mm * MM),
        arm.reach_max_mm * MM if arm.reach_max_mm > 0 else None,
    )
