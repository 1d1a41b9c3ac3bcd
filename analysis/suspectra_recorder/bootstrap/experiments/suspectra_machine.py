"""Loads the machine for experiments by its path.

The interpreter that runs the tests need not have Suspectra installed. This folder alone is put on its path, so nothing
else of the environment Suspectra lives in becomes visible to the tests.
"""

import os
import sys
from _frozen_importlib import module_from_spec
from _frozen_importlib_external import PathFinder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType


def load() -> "ModuleType":
    """Import the module that makes a pytest a machine.

    Returns
    -------
    module
        :mod:`suspectra_recorder.experiments.machine`.

    Examples
    --------
    >>> load().NAME
    'suspectra-machine'
    """
    if "suspectra_recorder" not in sys.modules:
        _load_package()
    from suspectra_recorder.instrumentation.standard_library import StandardLibrary

    with StandardLibrary():
        from suspectra_recorder.experiments import machine
    return machine


def _load_package() -> None:
    above = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
    spec = PathFinder.find_spec("suspectra_recorder", [above])
    assert spec is not None
    assert spec.loader is not None
    sys.modules["suspectra_recorder"] = module = module_from_spec(spec)
    spec.loader.exec_module(module)
