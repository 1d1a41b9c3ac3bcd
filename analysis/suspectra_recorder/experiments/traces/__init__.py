"""Tracing the dependences of a run: what each value, decision and call was made from."""
