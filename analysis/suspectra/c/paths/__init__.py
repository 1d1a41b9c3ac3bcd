"""Paths of C and C++ programs: recording them, comparing them, and switching decisions in a debugger."""
