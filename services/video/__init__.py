"""Cameras out. Not built yet: no process of this package is in the registry."""
