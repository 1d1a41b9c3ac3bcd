"""Running tests again with one thing altered, in the environment of the tests."""
