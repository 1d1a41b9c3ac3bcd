"""Running programs of the workspace: the runner, the events that it reports, and the watchdog."""
