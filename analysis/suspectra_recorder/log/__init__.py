"""The log of a recording: its frames, which of its records count, and keeping it small."""
