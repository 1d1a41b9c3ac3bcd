"""Techniques that rank by control-flow edges and by the outcomes of decisions."""
