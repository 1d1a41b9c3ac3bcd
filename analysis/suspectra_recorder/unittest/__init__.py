"""Recording of unittest, and of runners that stand on it."""
