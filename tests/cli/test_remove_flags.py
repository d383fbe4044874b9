"""The command line's flags are what the options declare: none is missing, none differs."""

from io import StringIO
from math import inf, nextafter
from typing import Any

import pytest
from cyclopts import App, Argument, CycloptsError
from rich.console import Console

from deshadow.cli.app import app as program
from deshadow.cli.remove import remove
from deshadow.removal.options import Option, RemovalOptions, list_options

SHOWN = list_options("cli")
RANGED = [option for option in SHOWN if option.range is not None]
OWN = {
    "output",
    "recursive",
    "skip-existing",
    "save-mask",
    "compare",
    "variants",
    "json",
    "quality",
    "workers",
}
OWN |= {"mask", "weights", "detector", "device", "runtime"}
"""Flags about files and networks, which the library does not have."""


@pytest.fixture(scope="module")
def app() -> App:
    app = App()
    app.default(remove)
    return app


def flag_of(option: Option) -> str:
    return f"--{option.name.replace('_', '-')}"


def parse(app: App, *words: str) -> RemovalOptions:
    _, bound, _ = app.parse_args(["photo.jpg", *words], exit_on_error=False, print_error=False)
    options = bound.arguments.get("options", RemovalOptions())
    assert isinstance(options, RemovalOptions)
    return options


def arguments(app: App) -> dict[str, Argument]:
    return {argument.names[0]: argument for argument in app.assemble_argument_collection() if argument.show}


def test_there_is_a_flag_for_every_option_and_no_other(app: App) -> None:
    flags = {name for name in arguments(app) if name.startswith("--")}
    assert flags == {flag_of(option) for option in SHOWN} | {f"--{name}" for name in OWN}


@pytest.mark.parametrize("option", SHOWN, ids=lambda option: option.name)
def test_help_type_default_and_choices_are_those_of_the_option(app: App, option: Option) -> None:
    argument = arguments(app)[flag_of(option)]
    assert argument.field_info.default == option.default
    assert argument.hint == option.type
    assert str(argument.parameter.help).startswith(option.help)
    if option.range is not None:
        assert f"{option.range.minimum} to {option.range.maximum}" in str(argument.parameter.help)
    assert argument.get_choices() == (option.choices or None)
    assert getattr(parse(app), option.name) == option.default


@pytest.mark.parametrize("option", RANGED, ids=lambda option: option.name)
def test_the_range_is_that_of_the_option(app: App, option: Option) -> None:
    assert option.range is not None
    for end, beyond in ((option.range.minimum, -inf), (option.range.maximum, inf)):
        parsed = parse(app, f"{flag_of(option)}={end}")
        assert getattr(parsed, option.name) == end
        outside: Any = end + (1 if beyond > 0 else -1) if option.type is int else nextafter(end, beyond)
        with pytest.raises((CycloptsError, ValueError), match=f"{option.name} is .* it must be from"):
            parse(app, f"{flag_of(option)}={outside}")


@pytest.mark.parametrize("option", SHOWN, ids=lambda option: option.name)
def test_a_choice_is_one_of_those_declared(app: App, option: Option) -> None:
    for choice in option.choices:
        assert getattr(parse(app, flag_of(option), choice), option.name) == choice
    if option.choices:
        with pytest.raises(CycloptsError, match="Choose from"):
            parse(app, flag_of(option), "other")


@pytest.mark.parametrize(
    "option", [option for option in SHOWN if option.type is int], ids=lambda option: option.name
)
def test_a_fraction_is_no_whole_number(app: App, option: Option) -> None:
    with pytest.raises(CycloptsError, match=r"'1\.5' is not a whole number"):
        parse(app, f"{flag_of(option)}=1.5")


def test_the_runtime_is_one_of_those_that_there_are(app: App) -> None:
    for name in ("auto", "onnxruntime", "openvino", "torch"):
        _, bound, _ = app.parse_args(["photo.jpg", "--runtime", name], exit_on_error=False)
        assert bound.arguments["runtime"] == name
    with pytest.raises(CycloptsError, match="Choose from"):
        parse(app, "--runtime", "abacus")


def test_the_help_shows_every_default() -> None:
    printed = StringIO()
    program.help_print([], console=Console(width=400, file=printed))  # so wide that no line is broken
    lines = printed.getvalue().splitlines()
    for option in SHOWN:
        (line,) = [line for line in lines if f"{flag_of(option)} " in line]
        shown = not isinstance(option.default, tuple | bool)
        assert (f"[default: {option.default}]" in line) == shown


def test_points_and_numbers_of_shadows(app: App) -> None:
    parsed = parse(
        app, "--at", "1,2", "--at", "30,40", "--instance", "1,2", "--exclude", "3", "--invert-mask"
    )
    assert parsed == type(parsed)(at=((1, 2), (30, 40)), instance=(1, 2), exclude=(3,), invert_mask=True)


def test_every_option_is_in_the_library_and_says_what_it_does() -> None:
    assert list_options("library") == list_options()
    for option in list_options():
        assert option.help.endswith(".")
        assert (option.range is not None) == (option.type in (int, float))
        assert getattr(RemovalOptions(), option.name) == option.default
