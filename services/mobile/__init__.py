"""Mobile base, WiFi samples and map. Not built yet: no process of this package is in the registry."""
