"""The options of a recording are declared once, and reach it from wherever they are chosen."""

import dataclasses

import click
import pytest

from suspectra.base.options import EXPERIMENTS
from suspectra.cli.main import cli
from suspectra_recorder.options import OPTIONS, Option
from suspectra_recorder.settings import RecordingSettings
from suspectra_server.settings import SETTINGS

pytest_plugins = ["pytester"]
BY_NAME = {option.name: option for option in OPTIONS}


def test_each_is_a_value_of_the_recording():
    values = {field.name: field.default for field in dataclasses.fields(RecordingSettings)}
    for option in OPTIONS:
        chosen = option.combine([values[option.name]])
        assert chosen == option.default, option.name


def test_the_command_line_has_them_with_their_texts():
    has = {parameter.name: parameter for parameter in cli.get_command(click.Context(cli), "record").params}
    for option in OPTIONS:
        assert f"--{option.word}" in has[option.name].opts
        assert has[option.name].help.startswith(option.help)


def test_editors_have_settings_for_the_options_of_experiments():
    has = {parameter.name: parameter for parameter in cli.get_command(click.Context(cli), "investigate").params}
    settings = {setting.attribute: setting for setting in SETTINGS}
    for option in EXPERIMENTS:
        assert f"--{option.word}" in has[option.name].opts
        setting = settings[f"experiments_{option.name}"]
        assert setting.option.default == option.default
        assert has[option.name].help.startswith(setting.text)
    assert has["investigation_seconds"].default == settings["investigation_seconds"].option.default


def test_pytest_has_them_with_their_texts(pytester):
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
    shown = " ".join(pytester.runpytest_inprocess("--help", "-p", "suspectra").stdout.str().split())
    for option in OPTIONS:
        assert f"{option.pytest_flag} " in shown.replace("=", " ")
        assert f"{option.ini_name} (" in shown
        assert option.help in shown


@pytest.mark.parametrize(
    ("name", "chosen", "together"),
    [
        ("counts", (False, None, False), False),
        ("counts", (False, None, True), True),
        ("counts", (True, None, False), True),
        ("children", (True, None, True), True),
        ("children", (True, False, True), False),
        ("children", (True, None, False), False),
        ("sources", (("a",), ["b"], ["c", "d"]), ("a", "b", "c", "d")),
        ("sources", ((), None, []), ()),
        ("recorder", ("", None, "auto"), "auto"),
        ("recorder", ("", "probes", "monitoring"), "probes"),
        ("recorder", ("monitoring", "probes", "auto"), "monitoring"),
    ],
)
def test_what_several_places_choose_counts_together(name, chosen, together):
    assert BY_NAME[name].combine(chosen) == together


def test_a_declared_option_is_taken_by_every_command_line():
    """One that nobody knows of by name yet."""
    from suspectra.cli.console import declared

    made = declared(Option("new_thing", 0.5, "Does it.", minimum=0, maximum=1))(lambda: None).__click_params__[0]
    assert (made.opts, made.default, made.type.min, made.type.max) == (["--new-thing"], 0.5, 0, 1)
