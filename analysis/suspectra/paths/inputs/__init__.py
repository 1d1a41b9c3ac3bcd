"""Inputs with which a failing test passes, found by a solver along paths near the failing one."""
