"""Running the user's test command with the recorder in it, and merging recordings."""
