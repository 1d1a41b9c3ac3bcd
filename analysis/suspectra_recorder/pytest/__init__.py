"""Recording of pytest, which loads this package itself, for the plugin (PYTEST_DONT_REWRITE).

`plugin` is what pytest loads in any case, so it imports next to nothing; `session` records. With pytest-xdist each
worker records by itself, and the process that starts them runs no test.
"""
