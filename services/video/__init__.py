"""Cameras out. Not built yet: nothing of it is in the registry."""
