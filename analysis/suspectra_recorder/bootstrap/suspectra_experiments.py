"""A pytest plugin that makes a pytest a machine for experiments."""

from suspectra_loading import standard_library

TYPE_CHECKING = False
if TYPE_CHECKING:
    import pytest


def pytest_addoption(pluginmanager: "pytest.PytestPluginManager") -> None:
    """Register the machine, where the environment asks for one."""
    with standard_library():
        from suspectra_recorder.experiments import machine
    machine.start(pluginmanager)
