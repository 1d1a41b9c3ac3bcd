"""Readers of the formats that other tools write."""
