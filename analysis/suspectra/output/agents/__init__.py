"""Answers for coding agents."""
