"""What may not be a shadow is shown as such, stays unless it is clicked, and depends on the sensitivity."""

import numpy as np
from browsing import (
    FIRST,
    HEIGHT,
    SECOND,
    WIDTH,
    Opener,
    chip,
    colour,
    downloaded,
    finished,
    photo,
    place,
    pressed,
    reads,
    remove,
)
from playwright.sync_api import Page
from serving import Served, doubtful

PICTURE = doubtful(WIDTH, HEIGHT)


def open_doubtful(page: Page) -> None:
    page.set_input_files("#file", photo(picture=PICTURE))
    reads(page, ".found", "^2 shadows found, 1 not sure$")


def changed(page: Page) -> tuple[bool, bool]:
    """Whether the large and the small shadow differ from the photo in what is downloaded."""
    _, result = downloaded(page, ".files [data-do=download]")
    large, small = ((result[y, x] != PICTURE[y, x]).any() for x, y in (FIRST, SECOND))
    return bool(large), bool(small)


def striped(page: Page, x: int, y: int) -> bool:
    """Whether the tint over the photo comes and goes along a line."""
    tint = {colour(page, x + step, y, "over")[3] > 20 for step in range(0, 24, 3)}
    return tint == {True, False}


def test_what_is_not_sure_is_striped_and_stays_until_it_is_clicked(
    page_server: Served, visit: Opener
) -> None:
    page = visit(page_server)
    open_doubtful(page)
    assert not striped(page, *FIRST)
    assert striped(page, *SECOND)
    assert "may not be a shadow" in (chip(page, 2).get_attribute("aria-label") or "")
    reads(page, "#choice", "^Shadow 1 will be removed$")
    remove(page)
    assert changed(page) == (True, False)
    reads(page, ".found", "^1 shadow left, not sure$")
    assert not page.is_visible(".buttons [data-do=remove]")  # the rest needs a choice
    assert page.locator(".badge").count() == 0  # nothing is drawn over the comparison
    page.click("#compare")
    assert striped(page, *SECOND)
    page.mouse.click(*place(page, *SECOND))
    assert pressed(page, 2)
    reads(page, "#choice", "^Shadow 2 will be removed$")
    remove(page)
    assert changed(page) == (True, True)


def test_nothing_sure_is_not_removed_by_itself(page_server: Served, visit: Opener) -> None:
    page = visit(page_server)
    picture = PICTURE.copy()
    picture[:, 240:] = np.maximum(picture[:, 240:], 120)  # without the large shadow
    page.set_input_files("#file", photo(picture=picture))
    reads(page, ".found", "^1 shadow found, not sure$")
    page.click("[data-do=remove]")
    reads(page, "#note p", "may not be a shadow, so it stays")
    assert not page.is_visible("#divider")


def test_another_sensitivity_finds_the_shadows_again_without_another_upload(
    page_server: Served, visit: Opener
) -> None:
    page = visit(page_server)
    sent = list[str]()
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    open_doubtful(page)
    page.select_option("[name=sensitivity]", "high")
    reads(page, ".found", "^2 shadows found$")
    assert not striped(page, *SECOND)
    assert len(sent) == 1
    remove(page)
    assert changed(page) == (True, True)
    page.select_option("[name=sensitivity]", "normal")
    reads(page, ".found", "^No shadow left$")


def test_what_is_selected_and_removed_stays_so_although_the_numbers_change(
    page_server: Served, visit: Opener
) -> None:
    page = visit(page_server)
    picture = PICTURE.copy()
    picture[:, 200:300] = 90  # number 2 with high sensitivity, and nothing with normal
    page.set_input_files("#file", photo(picture=picture))
    reads(page, ".found", "^2 shadows found, 1 not sure$")
    page.mouse.click(*place(page, *SECOND))
    page.select_option("[name=sensitivity]", "high")
    reads(page, ".found", "^3 shadows found$")
    assert [pressed(page, number) for number in (1, 2, 3)] == [False, False, True]
    page.keyboard.press("Delete")
    page.click("[data-do=undo]")
    assert [pressed(page, number) for number in (1, 2, 3)] == [False, False, True]
    page.select_option("[name=sensitivity]", "normal")
    reads(page, ".found", "^2 shadows found, 1 not sure$")
    assert [pressed(page, number) for number in (1, 2)] == [False, True]
    remove(page)
    reads(page, ".found", "^1 shadow left$")
    page.select_option("[name=sensitivity]", "high")
    reads(page, ".found", "^2 shadows left$")
    assert chip(page, 1).is_visible()
    assert chip(page, 2).is_visible()


def test_the_shadows_of_every_open_photo_are_found_again(page_server: Served, visit: Opener) -> None:
    page = visit(page_server)
    page.set_input_files("#file", [photo(picture=PICTURE), photo(picture=PICTURE)])
    reads(page, ".found", "1 not sure$")
    page.select_option("[name=sensitivity]", "high")
    reads(page, ".found", "^2 shadows found$")
    page.click("[data-do=remove-all]")
    reads(page, "#note p", "^Shadows removed from 2 photos")
    finished(page)
    page.keyboard.press(".")
    page.wait_for_selector(".thumbs li:nth-child(2) [aria-pressed=true]")
    assert changed(page) == (True, True)
