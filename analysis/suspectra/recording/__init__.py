"""Recording what each test executes. Standard library only: it runs in the user's own test process."""
