"""Paths of C and C++ programs: recording them, comparing them, and switching decisions in a debugger.

The compiler inserts a call at each block (`-fsanitize-coverage=trace-pc`) and function, so this needs a build of its
own; the user's stays as it is. The recorder maps its file into memory, so a crash loses nothing, and takes the depth of
calls from the addresses of their frames, so `longjmp` does no harm.
"""
