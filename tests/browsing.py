"""What a person does on the page, and what can be seen there."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from serving import decoded, encoded, scene
from standin import StandIn

from deshadow.image.strips import Picture
from deshadow.removal.modes import Progress
from deshadow.removal.options import RemovalOptions
from deshadow.removal.remover import RemovalResult
from deshadow.removal.selection import Selection

if TYPE_CHECKING:
    from playwright.sync_api import FilePayload, Locator, Page

WIDTH, HEIGHT = 640, 480
FIRST, SECOND, GROUND = (440, 240), (120, 240), (250, 60)
"""Points in the large shadow, in the small one and in neither."""

Opener = Callable[..., "Page"]


class Noting(StandIn):
    """A stand-in that remembers what it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.noted: list[RemovalOptions] = []

    def relight(
        self,
        pixels: Picture,
        selection: Selection,
        options: RemovalOptions,
        progress: Callable[[Progress], None] | None,
    ) -> RemovalResult | None:
        self.noted.append(options)
        return super().relight(pixels, selection, options, progress)


def photo(kind: str = "PNG", picture: NDArray[np.uint8] | None = None, **options: Any) -> "FilePayload":
    picture = scene(WIDTH, HEIGHT) if picture is None else picture
    return named(f"yard.{kind.lower()}", encoded(picture, kind, **options))


def named(name: str, data: bytes) -> "FilePayload":
    return {"name": name, "mimeType": f"image/{Path(name).suffix[1:]}", "buffer": data}


def open_photo(page: "Page", file: "FilePayload | None" = None) -> None:
    page.set_input_files("#file", file or photo())
    reads(page, ".found", "found$")


def reads(page: "Page", selector: str, pattern: str) -> None:
    """Wait until it says that."""
    page.locator(selector).filter(has_text=re.compile(pattern)).wait_for()


def place(page: "Page", x: float, y: float) -> tuple[float, float]:
    """Where a pixel of the photo lies on the screen while all of it is in view."""
    box = page.locator("#stage").bounding_box()
    assert box is not None
    margin = 56 if box["width"] >= 700 else 0
    scale = min((box["width"] - margin) / WIDTH, (box["height"] - margin) / HEIGHT, 8)
    left, top = (box["width"] - WIDTH * scale) / 2, (box["height"] - HEIGHT * scale) / 2
    return box["x"] + left + x * scale, box["y"] + top + y * scale


def chip(page: "Page", number: int) -> "Locator":
    return page.locator(f"[data-shadow='{number}']")


def pressed(page: "Page", number: int) -> bool:
    return chip(page, number).get_attribute("aria-pressed") == "true"


def colour(page: "Page", x: float, y: float, canvas: str = "picture") -> list[int]:
    """Red, green, blue and alpha of a canvas under a pixel of the photo, after what is drawn next."""
    at = place(page, x, y)
    return list(
        page.evaluate(
            """async ([name, x, y]) => {
              await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
              const canvas = document.querySelector(`canvas.${name}`);
              const box = canvas.getBoundingClientRect();
              const across = ((x - box.left) * canvas.width) / box.width;
              const down = ((y - box.top) * canvas.height) / box.height;
              return [...canvas.getContext("2d").getImageData(across, down, 1, 1).data];
            }""",
            [canvas, *at],
        )
    )


def finished(page: "Page") -> None:
    """Wait until before and after are compared, and no removal runs."""
    page.wait_for_selector("#divider:not([hidden])")
    page.wait_for_selector("body[data-work='']")


def remove(page: "Page") -> None:
    """Remove what is selected, and wait for the quick result."""
    page.click("[data-do=remove]")
    finished(page)


def overflowing(page: "Page") -> list[str]:
    """What is visible, should fit and does not: it is outside the window, or its text is cut off."""
    return list(
        page.evaluate(
            """() => {
              const kinds = "button, label, p, select, summary, input, h2, h3, figure, .badge";
              const within = ({ left, right, top, bottom }) =>
                left > -2 && top > -2 && right < innerWidth + 2 && bottom < innerHeight + 2;
              return [...document.querySelectorAll(kinds)]
                .filter((each) => each.checkVisibility())
                .filter((each) => !each.closest(".unseen, .thumbs, .chips, dialog, .zoom"))
                .filter((each) => !within(each.getBoundingClientRect())
                  || (!each.matches(".name, input, select") && each.scrollWidth > each.clientWidth + 2))
                .map((each) => each.outerHTML.slice(0, 120));
            }"""
        )
    )


def downloaded(page: "Page", press: str) -> tuple[str, NDArray[np.uint8]]:
    with page.expect_download() as download:
        page.click(press)
    return download.value.suggested_filename, decoded(Path(download.value.path()).read_bytes())


def open_advanced(page: "Page") -> None:
    page.evaluate("document.querySelector('.advanced').open = true")


def set_slider(page: "Page", name: str, value: float) -> None:
    page.locator(f"[name={name}]").fill(str(value))


def drag(page: "Page", start: tuple[int, int], end: tuple[int, int]) -> None:
    page.mouse.move(*place(page, *start))
    page.mouse.down()
    page.mouse.move(*place(page, *end), steps=5)
    page.mouse.up()
