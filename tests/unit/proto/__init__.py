"""Tests of proto."""
