"""A pytest plugin that registers the recorder's plugin.

Suspectra may not be installed for the interpreter that runs the tests. Only this folder is added to its path, so the
tests can't see other packages of Suspectra's environment.

``sitecustomize.py`` has imported the recorder already, except with ``python -S``, or if another ``sitecustomize.py``
comes first on the path. Then it can't be called, so the import is repeated below.
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


def pytest_addoption(pluginmanager: "pytest.PytestPluginManager") -> None:
    """Register what keeps this process waiting, where the environment asks for that.

    Parameters
    ----------
    pluginmanager : pytest.PytestPluginManager
        Where it is registered.
    """
    from suspectra_recorder.settings import VARIABLE, Settings

    settings = Settings.from_json(os.environ.get(VARIABLE, ""))
    if settings.channel >= 0:
        from suspectra_recorder.instrumentation.standard_library import StandardLibrary

        with StandardLibrary():
            from suspectra_recorder.warm import process
        process.start(pluginmanager, settings)


def pytest_plugin_registered(plugin: object, manager: "pytest.PytestPluginManager") -> None:
    """Register the plugin under the name of its entry point, so that it is registered only once.

    Parameters
    ----------
    plugin : object
        The plugin that was registered with pytest; any plugin, also this one.
    manager : pytest.PytestPluginManager
        The manager with which the recorder's plugin is registered.
    """
    if manager.get_plugin("suspectra") is None and not manager.is_blocked("suspectra"):
        manager.register(pytest_plugin, "suspectra")
