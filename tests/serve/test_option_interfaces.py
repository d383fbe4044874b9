"""The HTTP form, `/api/settings` and the page show each removal option as it is declared, and no other."""

from typing import Any, get_args

import pytest
from browsing import Opener
from serving import Served

from deshadow.removal.options import Option, list_options

SELECTION = {"instances", "points", "mask", "base"}
"""Fields of the form that are no options: they say which shadows to remove."""


def describe(option: Option) -> dict[str, Any]:
    """Default, range and choices of an option, as they must show."""
    if option.range is None:
        return {"default": option.default, "choices": list(option.choices)}
    limits = {"minimum": option.range.minimum, "maximum": option.range.maximum, "step": option.range.step}
    return {"default": option.default, **limits}


def test_there_are_options_for_each_face() -> None:
    for interface in ("http", "page"):
        assert len(list_options(interface)) > 3  # otherwise the tests below compare nothing
    assert set(list_options("page")) <= set(list_options("http"))  # the page sends what it shows


def test_what_hardly_changes_a_photo_is_not_on_the_page_but_can_still_be_sent() -> None:
    page, http = ({option.name for option in list_options(interface)} for interface in ("page", "http"))
    assert not page & {"steps", "seed", "sampler"}
    assert {"steps", "seed", "sampler"} <= http


@pytest.mark.parametrize(("form", "more"), [("JobForm", set()), ("RemoveForm", {"file"})])
def test_the_http_form_takes_each_option_as_declared(page_server: Served, form: str, more: set[str]) -> None:
    schema = page_server.http.get("/api/openapi.json").json()["components"]["schemas"][form]
    fields = {name: field for name, field in schema["properties"].items() if name not in SELECTION | more}
    assert set(fields) == {option.name for option in list_options("http")}
    for option in list_options("http"):
        field = fields[option.name]
        shown = {"default": field["default"]}
        if option.range is None:
            shown["choices"] = field["enum"]
            assert field["enum"] == list(get_args(option.type))
        else:
            shown |= {name: field[name] for name in ("minimum", "maximum")}
            shown["step"] = option.range.step  # a form has no steps: numbers in between are valid
            assert field["type"] == {int: "integer", float: "number"}[option.type]
        assert shown == describe(option)
        assert field["description"] == option.help


def test_the_settings_show_each_option_as_declared(page_server: Served) -> None:
    settings = page_server.http.get("/api/settings").json()["options"]
    assert list(settings) == [option.name for option in list_options("http")]
    for option in list_options("http"):
        assert settings[option.name] == {
            "help": option.help,
            "page": "page" in option.interfaces,
            **describe(option),
        }


def test_the_page_has_a_control_for_each_option_as_declared(page_server: Served, visit: Opener) -> None:
    page = visit(page_server)
    controls = page.evaluate(
        """() => {
          const describe = (input) => ({
            default: Number(input.value), minimum: Number(input.min), maximum: Number(input.max),
            step: Number(input.step), title: input.labels[0].title, label: input.labels[0].textContent,
          });
          const inputs = [...document.querySelectorAll("#adjust input")];
          return Object.fromEntries(inputs.map((input) => [input.name, describe(input)]));
        }"""
    )
    modes = page.evaluate("[...document.querySelectorAll('[data-mode]')].map((each) => each.dataset.mode)")
    expected = {option.name: option for option in list_options("page")}
    assert modes == list(expected.pop("mode").choices)
    sensitivity = expected.pop("sensitivity")
    listed = page.locator("[name=sensitivity]")
    values = listed.locator("option").evaluate_all("(each) => each.map(({ value }) => value)")
    assert (values, listed.input_value()) == (list(sensitivity.choices), sensitivity.default)
    assert page.locator("label.sensitivity").get_attribute("title") == sensitivity.help
    assert set(controls) == set(expected)
    for name, option in expected.items():
        control = controls[name]
        assert control.pop("title") == option.help
        assert control.pop("label").startswith({"dilate": "Grow"}.get(name, name.capitalize()))
        assert control == describe(option)
