"""Mobile base, WiFi samples and map. Not built yet: nothing of it is in the registry."""
