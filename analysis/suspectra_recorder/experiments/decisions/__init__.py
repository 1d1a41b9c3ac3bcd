"""Runs in which decisions, calls and statements are noted, or decisions come out differently."""
