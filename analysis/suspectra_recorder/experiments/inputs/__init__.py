"""Runs in which a test gets another input, and values note how comparisons depend on it."""
