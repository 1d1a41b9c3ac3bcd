"""A process that has collected the tests of a workspace, and runs some of them on request."""
