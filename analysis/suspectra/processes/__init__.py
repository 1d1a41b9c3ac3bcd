"""Running programs of the workspace: one runner, what it tells of a run, and the watchdog behind it."""
