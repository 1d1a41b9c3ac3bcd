"""The paths of runs: which events correspond, how far two runs are apart, and paths that lie near a failing run's."""
