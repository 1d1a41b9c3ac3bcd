"""Probes put into Python sources while they are imported. Standard library only: it runs in the user's tests."""
