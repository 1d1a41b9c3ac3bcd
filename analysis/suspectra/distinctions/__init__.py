"""What tells suspects apart: why one line ranks before another, and which test would break up a tie."""
