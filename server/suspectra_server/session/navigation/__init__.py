"""Where the reader is, what they marked, and where to look next."""
