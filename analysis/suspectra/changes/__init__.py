"""Which change broke a test, found by running it with some of the changes (Zeller 1999)."""
