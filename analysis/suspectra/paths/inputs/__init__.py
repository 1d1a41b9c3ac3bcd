"""Inputs with which a failing test passes, found by a solver along paths near the failing one.

A text has a symbol for each character, since Z3 solves numbers much faster than texts, and keeps inputs near. Nothing
is assumed of what has no term: the path of each run is compared with the wanted one, and the result with a run of plain
values.
"""
