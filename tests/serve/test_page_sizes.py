"""The page at the sizes of a large window, a small laptop and a phone: from an example to a download."""

from collections.abc import Iterator
from typing import Any

import pytest
from browsing import Opener, chip, downloaded, finished, open_advanced, overflowing, reads, remove
from serving import Served, serving
from standin import StandIn

SIZES: dict[str, dict[str, Any]] = {
    "large": {"viewport": {"width": 1440, "height": 900}},
    "laptop": {"viewport": {"width": 1024, "height": 600}},
    "phone": {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True},
}


@pytest.fixture(scope="module")
def patient_server() -> Iterator[Served]:
    """A server whose refinements take so long that they can be looked at and stopped."""
    with serving(StandIn(pause=0.1, windows=100), page=None) as server:
        yield server


@pytest.mark.parametrize(("size", "scheme"), [*((size, "light") for size in SIZES), ("laptop", "dark")])
def test_everything_from_an_example_to_a_download_is_within_the_window(
    patient_server: Served, visit: Opener, size: str, scheme: str
) -> None:
    page = visit(patient_server, **SIZES[size], color_scheme=scheme)
    page.wait_for_load_state("networkidle")
    assert overflowing(page) == []
    page.click("[data-example=lawn]")
    reads(page, ".found", "shadows? found$")
    reads(page, "#choice", "will be removed$")
    assert page.locator("#hint").is_visible()
    assert page.locator(".badge:not([hidden])").count() >= 1
    assert overflowing(page) == []
    chip(page, 1).click()
    reads(page, "#choice", "^Shadow 1 will be removed$")
    remove(page)
    assert overflowing(page) == []
    page.click("[data-do=refine]")
    reads(page, "#words", "^Refining: [1-9][0-9]* of 100$")
    assert overflowing(page) == []
    page.click("[data-do=keep]")
    finished(page)
    page.click("[data-do=undo]")
    reads(page, "#note p", "^Undone: Refinement$")
    while chip(page, 1).or_(page.locator(".chip")).count():
        remove(page)
    assert page.locator(".buttons [data-do=remove]").is_hidden()
    name, result = downloaded(page, ".buttons [data-do=download]")
    assert (name, result.shape) == ("lawn.deshadowed.jpg", (600, 900, 3))
    open_advanced(page)
    cut = [each for each in overflowing(page) if "data-do" in each and "import" not in each]
    assert [each for each in cut if not any(name in each for name in ("export", "last", "repeat"))] == []


CONTRAST = """() => {
  // As WCAG 2 defines it, for text on the nearest opaque ground below it.
  const parse = (colour) => {
    const canvas = new OffscreenCanvas(1, 1).getContext("2d");
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const ground = (each) => {
    for (; each; each = each.parentElement) {
      const colour = parse(getComputedStyle(each).backgroundColor);
      if (colour[3] > 200) return colour;
    }
    return parse("white");
  };
  const kinds = "button, p, label > span, output, summary, h2, h3, select, figcaption, .badge";
  return [...document.querySelectorAll(kinds)]
    .filter((each) => each.checkVisibility() && !each.disabled && each.textContent.trim())
    .map((each) => {
      const [a, b] = [light(parse(getComputedStyle(each).color)), light(ground(each))];
      return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), each.outerHTML.slice(0, 100)];
    })
    .filter(([ratio]) => ratio < 4.5);
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast(page_server: Served, visit: Opener, scheme: str) -> None:
    page = visit(page_server, **SIZES["large"], color_scheme=scheme)
    assert page.evaluate(CONTRAST) == []
    page.click("[data-example=lawn]")
    reads(page, ".found", "found$")
    open_advanced(page)
    chip(page, 1).click()
    assert page.evaluate(CONTRAST) == []
    remove(page)
    assert page.evaluate(CONTRAST) == []
