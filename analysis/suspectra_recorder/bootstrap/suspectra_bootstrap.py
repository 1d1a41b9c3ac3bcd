"""A pytest plugin that registers the recorder's.

The interpreter that runs the tests need not have Suspectra installed. This folder alone is put on its path, so
nothing else of the environment Suspectra lives in becomes visible to the tests.

``sitecustomize.py`` has imported the recorder already, except with ``python -S``, or when another ``sitecustomize.py``
comes first on the path. It can't be called then, so the import is written a second time below.
"""

import os
import sys
from _frozen_importlib import module_from_spec
from _frozen_importlib_external import PathFinder

TYPE_CHECKING = False
if TYPE_CHECKING:
    import pytest


if "suspectra_recorder" not in sys.modules:
    _above = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    _spec = PathFinder.find_spec("suspectra_recorder", [_above])
    assert _spec is not None
    assert _spec.loader is not None
    sys.modules["suspectra_recorder"] = _module = module_from_spec(_spec)
    _spec.loader.exec_module(_module)

from suspectra_recorder import pytest_plugin  # noqa: E402


def pytest_plugin_registered(plugin: object, manager: "pytest.PytestPluginManager") -> None:
    """Register the plugin under the name of its entry point, so that it is there once.

    Parameters
    ----------
    plugin : object
        What has been registered with pytest; any plugin, this one too.
    manager : pytest.PytestPluginManager
        Where the recorder's plugin is registered.
    """
    if manager.get_plugin("suspectra") is None and not manager.is_blocked("suspectra"):
        manager.register(pytest_plugin, "suspectra")
