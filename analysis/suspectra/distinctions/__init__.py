"""What tells suspects apart: why one line stands before another, and which test would part a tie."""
