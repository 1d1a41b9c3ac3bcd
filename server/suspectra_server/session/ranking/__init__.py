"""From a change of the evidence to a ranking that can be shown."""
