"""What expressions would give in a run, computed where they would stand, without calling code of the program."""
