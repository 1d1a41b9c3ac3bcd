"""A pytest plugin that registers the recorder's plugin.

``sitecustomize.py`` has imported the recorder already, except with ``python -S``, or if another ``sitecustomize.py``
comes first on the path.
"""

import os

from suspectra_loading import load_recorder, standard_library

TYPE_CHECKING = False
if TYPE_CHECKING:
    import pytest

load_recorder()

from suspectra_recorder.pytest import plugin as recorder  # noqa: E402


def pytest_addoption(pluginmanager: "pytest.PytestPluginManager") -> None:
    """Register what keeps this process waiting, where the environment asks for that."""
    from suspectra_recorder.settings import VARIABLE, RecordingSettings

    settings = RecordingSettings.from_json(os.environ.get(VARIABLE, ""))
    if settings.channel >= 0:
        with standard_library():
            from suspectra_recorder.warm import process
        process.start(pluginmanager, settings)


def pytest_plugin_registered(plugin: object, manager: "pytest.PytestPluginManager") -> None:
    """Register the plugin under the name of its entry point, so that it is registered only once."""
    if manager.get_plugin("suspectra") is None and not manager.is_blocked("suspectra"):
        manager.register(recorder, "suspectra")
