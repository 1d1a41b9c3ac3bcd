"""Values of compiled programs: parameters, local variables and what is compared, in the order in which they come up.

The compiler inserts a call at each block, function and comparison, as for paths. Each of these calls reads the
variables of the function from its frame: the debug information says where they are, and without optimization they are
nowhere else. So no debugger is needed, and nothing is stopped.
"""
