"""Recording of pytest."""
