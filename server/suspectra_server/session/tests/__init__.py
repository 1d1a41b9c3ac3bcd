"""Running tests, when the user asks for it or after a save."""
