"""Choosing the tests that a change can affect."""
