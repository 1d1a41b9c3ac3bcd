"""C and C++ programs: recording their tests, and searching their paths."""
