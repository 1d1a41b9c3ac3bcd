"""The structure of Python sources, read from their text alone."""
