"""A pytest plugin that makes a pytest a machine for experiments."""

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    import pytest


def pytest_addoption(pluginmanager: "pytest.PytestPluginManager") -> None:
    """Register the machine, where the environment asks for one.

    Parameters
    ----------
    pluginmanager : pytest.PytestPluginManager
        Where it is registered.
    """
    import_module("suspectra_machine").load().start(pluginmanager)
