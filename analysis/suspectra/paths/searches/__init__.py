"""Searches for a path that passes and lies near a failing one, by running tests again."""
