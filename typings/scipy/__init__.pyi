"""Only what the tests use as an oracle; scipy ships no types."""
