"""What is altered in a run: how a decision comes out, the value that a statement assigns, or the code of a function."""
