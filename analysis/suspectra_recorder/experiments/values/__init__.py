"""Runs in which values are noted, compared or replaced.

Values are read where they are stored: ``repr``, ``==`` or ``hash`` could call the program, which would then do
something else than before. So only values whose type is exactly one of Python's own are written down (`literals.py`).
Numbers inside other objects are read from dictionaries and slots by the descriptors of their classes, and a copy with
another number is made without ``__init__`` and without `copy` (`inner_numbers.py`). Objects whose class has ``__del__``
are left out. Values and comparisons are instrumented only in processes that are asked for values.
"""
