"""Readers of the logs of runs that Suspectra made itself, with something altered or noted."""
