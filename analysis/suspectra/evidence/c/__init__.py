"""Evidence of C and C++ programs: the recording that `record-c` keeps, and raw profiles."""
