"""One answer to why tests fail: what changed, what experiments find, and the way of values to the failure."""
