"""The recorder's own references to the standard library, taken before any test runs.

A test may replace anything: ``os.path.realpath``, ``builtins.open``, ``sys._getframe``, the clock. The recorder runs in
the same process; such replacements must not affect it, nor see its calls. So its modules import from this module what
they use while tests run.

Each name is a copy of a module. Functions that the module defines in Python are copied too, and call the copies:
``os.path.realpath`` calls the copy of ``os.lstat``. A module of the recorder that sets ``__builtins__`` to this
module's `builtins` has its own ``open``, ``compile`` and ``isinstance``. The copies are not module objects, because
tools that fake a file system or a clock search all modules for references to replace.

The functions that copied functions call are copied, too: a list of uses to check would never be complete. What runs in
the middle of the user's code also goes through `Guard`, and only marks memory; files are written between tests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import _thread as _thread
    import builtins as builtins
    import fcntl as fcntl
    import hashlib as hashlib
    import json as json
    import marshal as marshal
    import mmap as mmap
    import os as os
    import resource as resource
    import signal as signal
    import struct as struct
    import sys as sys
    import time as time
    import zlib as zlib
else:
    from importlib import import_module as _import_module
    from types import FunctionType as _FunctionType

    class _Copies:
        pass

    builtins = dict(vars(_import_module("builtins")))
    _functions: dict[int, Any] = {}  # by the identity of the function that it is a copy of

    def copied(name: str, **others: object) -> _Copies:
        """Copy a module, with some of its names replaced by `others`."""
        module = _import_module(name)
        names = {**vars(module), **others, "__builtins__": builtins}
        for key, value in vars(module).items():
            if type(value) is _FunctionType and key not in others:
                if value.__globals__ is vars(module):
                    code, defaults = value.__code__, value.__defaults__
                    copy = _FunctionType(code, names, value.__name__, defaults, value.__closure__)
                    copy.__kwdefaults__ = value.__kwdefaults__
                    _functions[id(value)] = copy
                names[key] = _functions.get(id(value), value)
        copies = _Copies()
        copies.__dict__ = names
        return copies

    sys = copied("sys")
    os = copied("os", sys=sys)
    _stat = copied("stat")
    _generic_path = copied("genericpath", os=os, stat=_stat)
    os.path = copied(_import_module("os").path.__name__, os=os, sys=sys, stat=_stat, genericpath=_generic_path)
    time = copied("time")
    hashlib = copied("hashlib")
    json = copied("json")
    marshal = copied("marshal")
    mmap = copied("mmap")
    signal = copied("_signal")
    struct = copied("struct")
    zlib = copied("zlib")
    _thread = copied("_thread")
    try:
        fcntl, resource = copied("fcntl"), copied("resource")
    except ImportError:
        fcntl = resource = None  # Windows
