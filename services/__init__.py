"""One package per process family. A service never imports another service."""
