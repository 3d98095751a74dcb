"""The pipe as an operator meets it: real processes, real UDP, every stage killed in turn."""
