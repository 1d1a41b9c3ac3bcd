"""Failing tests that probably share a fault, and a ranking for each group of them."""
