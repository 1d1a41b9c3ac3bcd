"""Recording of pytest, which loads this package itself, for the plugin (PYTEST_DONT_REWRITE)."""
