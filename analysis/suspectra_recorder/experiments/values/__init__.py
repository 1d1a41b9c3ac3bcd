"""Runs in which values are noted, compared or replaced."""
