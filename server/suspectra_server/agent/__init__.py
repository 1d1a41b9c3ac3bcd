"""What coding agents can ask, and how the answers are made; for every way in which they ask."""
