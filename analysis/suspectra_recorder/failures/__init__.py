"""Where tests fail, and what is executed only to explain that."""
