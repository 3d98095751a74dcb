"""Every topic out again as JSON, /health and /metrics."""
