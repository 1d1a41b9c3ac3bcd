"""Running failing tests again with one thing altered, and keeping what came of it."""
