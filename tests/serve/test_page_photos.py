"""The page with several photos in a real browser: each has a history; nothing is lost without asking."""

import io
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from browsing import (
    FIRST,
    HEIGHT,
    WIDTH,
    Opener,
    chip,
    colour,
    downloaded,
    named,
    open_photo,
    pressed,
    reads,
    remove,
)
from PIL import Image
from serving import Served, encoded, scene, shaded

if TYPE_CHECKING:
    from playwright.sync_api import Page


def open_three(page: "Page") -> None:
    names = ("one.png", "two.png", "two.png")
    pictures = [scene(WIDTH, HEIGHT), scene(WIDTH, HEIGHT, tint=1), np.full((90, 120, 3), 200, np.uint8)]
    page.set_input_files(
        "#file", [named(name, encoded(each)) for name, each in zip(names, pictures, strict=True)]
    )
    page.locator(".thumbs li[data-photo=ready]").nth(2).wait_for()


def test_several_files_open_as_several_photos_with_histories_of_their_own(
    page_server: Served, visit: Opener
) -> None:
    page = visit(page_server)
    open_three(page)
    assert page.locator(".thumb").count() == 3
    reads(page, "#name", "^one.png")
    chip(page, 1).click()
    page.locator(".thumb").nth(1).click()
    reads(page, "#name", "^two.png · 640 × 480$")
    assert not pressed(page, 1)
    remove(page)
    page.keyboard.press(",")
    reads(page, "#name", "^one.png")
    assert pressed(page, 1)
    assert page.locator("#divider").is_hidden()
    assert sum(colour(page, *FIRST)[:3]) < 3 * 64
    page.keyboard.press(".")
    page.wait_for_selector("#compare:enabled")
    page.keyboard.press("Control+z")
    reads(page, "#note p", "^Undone: Removal$")


def test_the_shadows_of_all_photos_are_removed_and_downloaded_as_one_archive(
    page_server: Served, visit: Opener
) -> None:
    page = visit(page_server)
    open_three(page)
    page.get_by_role("button", name="Remove from all").click()
    reads(page, "#note p", "^Shadows removed from 2 photos. No clear shadow was found in 1 photo.$")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download all").click()
    assert download.value.suggested_filename == "deshadowed.zip"
    with zipfile.ZipFile(Path(download.value.path())) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["one.deshadowed.png", "two.deshadowed.png"]
        for tint, name in enumerate(archive.namelist()):
            picture = scene(WIDTH, HEIGHT, tint=tint)
            with Image.open(io.BytesIO(archive.read(name))) as found:
                result = np.asarray(found)
            dark = shaded(picture)
            assert (result[dark] == 2 * picture[dark]).all()
            assert (result[~dark] == picture[~dark]).all()
    assert page.locator(".thumbs li[data-photo=saved]").count() == 2


def test_a_photo_whose_result_was_not_downloaded_is_closed_only_after_asking(
    page_server: Served, visit: Opener
) -> None:
    page = visit(page_server)
    open_photo(page)
    remove(page)
    unsaved = "() => !dispatchEvent(new Event('beforeunload', { cancelable: true }))"
    assert page.evaluate(unsaved)  # leaving asks first
    page.click("[data-do=close]")
    reads(page, "#ask h2", "^Close yard.png\\?$")
    page.get_by_role("button", name="Keep it open").click()
    assert page.locator("#divider").is_visible()
    page.click("[data-do=close]")
    with page.expect_download():
        page.get_by_role("button", name="Download and close").click()
    page.wait_for_selector("body[data-state=empty]")
    assert not page.evaluate(unsaved)
    open_photo(page)
    page.click("[data-do=close]")  # nothing to lose
    page.wait_for_selector("body[data-state=empty]")


def test_another_photo_is_opened_beside_the_first_and_takes_nothing_from_it(
    slow_page_server: Served, visit: Opener
) -> None:
    page = visit(slow_page_server)
    open_photo(page)
    chip(page, 1).click()
    remove(page)
    page.click("[data-do=refine]")
    reads(page, "#words", "^Refining")
    page.set_input_files("#file", named("other.png", encoded(scene(WIDTH, HEIGHT, tint=1))))
    reads(page, "#name", "^other.png")
    reads(page, ".found", "^2 shadows found$")  # found while the other photo is refined
    page.locator(".thumb").nth(0).click()
    reads(page, "#name", "^yard.png")
    page.wait_for_selector("body[data-work='']")
    assert page.locator("[data-do=refine]").is_hidden()  # it was refined meanwhile
    page.wait_for_selector("#compare:enabled")


def test_the_format_and_quality_of_a_download_can_be_chosen(page_server: Served, visit: Opener) -> None:
    page = visit(page_server)
    open_photo(page)
    remove(page)
    page.select_option("[name=format]", "JPEG")
    sizes = []
    for quality in ("95", "50"):
        page.locator("[name=quality]").fill(quality)
        with page.expect_download() as download:
            page.keyboard.press("d")
        assert download.value.suggested_filename == "yard.deshadowed.jpg"
        sizes.append(Path(download.value.path()).stat().st_size)
    assert sizes[1] < sizes[0] / 2
    page.select_option("[name=format]", "TIFF")
    assert page.locator("[name=quality]").is_hidden()
    name, result = downloaded(page, ".files [data-do=download]")
    assert name == "yard.deshadowed.tif"
    assert result.shape == (HEIGHT, WIDTH, 3)


def test_a_result_is_copied_to_the_clipboard(page_server: Served, visit: Opener) -> None:
    page = visit(page_server, permissions=["clipboard-read", "clipboard-write"])
    open_photo(page)
    remove(page)
    page.get_by_role("button", name="Copy").click()
    reads(page, "#note p", "^Copied to the clipboard as PNG.$")
    size = page.evaluate(
        """async () => {
          const [item] = await navigator.clipboard.read();
          const picture = await createImageBitmap(await item.getType("image/png"));
          return [picture.width, picture.height];
        }"""
    )
    assert size == [WIDTH, HEIGHT]
