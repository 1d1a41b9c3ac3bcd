"""A pytest plugin that loads the recorder by its path.

The interpreter that runs the tests need not have Suspectra installed. This folder alone is put on its path, so
nothing else of the environment Suspectra lives in becomes visible to the tests.
"""

import os
import sys
from _frozen_importlib import module_from_spec
from _frozen_importlib_external import spec_from_file_location

TYPE_CHECKING = False
if TYPE_CHECKING:
    import pytest


def _load_package() -> None:
    package = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))
    init = os.path.join(package, "__init__.py")
    spec = spec_from_file_location("suspectra_recorder", init, submodule_search_locations=[package])
    assert spec is not None  # it has the name of a Python file
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["suspectra_recorder"] = module
    spec.loader.exec_module(module)


if "suspectra_recorder" not in sys.modules:
    _load_package()

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
