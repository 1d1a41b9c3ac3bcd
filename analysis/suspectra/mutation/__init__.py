"""Mutants: a program with one small change, as an edit of its text."""
