"""Tests of services.ingest."""
