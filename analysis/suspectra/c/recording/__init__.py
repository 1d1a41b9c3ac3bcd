"""Recording tests of C and C++ programs."""
