"""The dynamic dependences of a failing run: slices, cuts, and what they tell of the cause."""
