"""What every Farhand process shares: clock, bus, config, service wrapper, watchdog, se3."""
