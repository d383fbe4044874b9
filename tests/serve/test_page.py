"""The page in a real browser, against a real server whose networks are a stand-in: from photo to download."""

import numpy as np
import pytest
from browsing import (
    FIRST,
    HEIGHT,
    SECOND,
    WIDTH,
    Noting,
    Opener,
    chip,
    colour,
    downloaded,
    drag,
    finished,
    named,
    open_photo,
    place,
    pressed,
    reads,
    set_slider,
)
from serving import Served, encoded, scene, shaded


def test_a_click_takes_a_shadow_quick_removes_it_and_the_rest_stays_bit_for_bit(
    page_server: Served, visit: Opener
) -> None:
    picture = scene(WIDTH, HEIGHT)
    page = visit(page_server)
    open_photo(page)
    assert page.locator(".found").text_content() == "2 shadows found"
    page.mouse.click(*place(page, *FIRST))
    assert pressed(page, 1)
    page.mouse.click(*place(page, *SECOND))
    assert pressed(page, 2)
    page.mouse.click(*place(page, *SECOND))
    assert not pressed(page, 2)
    page.get_by_role("button", name="Quick").click()
    finished(page)
    name, result = downloaded(page, "[data-do=download]")
    large = shaded(picture) & (np.arange(WIDTH) >= WIDTH // 4)
    assert name == "yard.deshadowed.png"
    assert result.shape == picture.shape
    assert (result[~large] == picture[~large]).all()
    assert (result[large] == 2 * picture[large]).all()


def test_a_photo_comes_back_in_its_own_format_under_its_own_name(page_server: Served, visit: Opener) -> None:
    page = visit(page_server)
    open_photo(page, named("Höfe, 1.jpeg", encoded(scene(WIDTH, HEIGHT), "JPEG", quality=95)))
    page.click("[data-do=quick]")
    finished(page)
    name, result = downloaded(page, "[data-do=download]")
    assert name == "Höfe, 1.deshadowed.jpeg"
    assert result.shape == (HEIGHT, WIDTH, 3)


def test_the_grown_mask_is_seen_as_the_slider_moves_and_sent_as_it_stands(
    page_server: Served, visit: Opener
) -> None:
    page = visit(page_server)
    open_photo(page)
    set_slider(page, "feather", 0)
    set_slider(page, "dilate", 0)
    chip(page, 1).click()
    outside = 560 + 15, 240
    assert colour(page, *FIRST, "over")[3] > 0
    assert colour(page, *outside, "over")[3] == 0
    set_slider(page, "dilate", 20)
    assert colour(page, *outside, "over")[3] > 0
    page.click("[data-do=quick]")
    finished(page)
    assert isinstance(page_server.networks, Noting)
    assert page_server.networks.noted[-1].dilate == 20
    assert page_server.networks.noted[-1].feather == 0


def test_before_and_after_lie_on_either_side_of_a_divider_that_keys_move(
    page_server: Served, visit: Opener
) -> None:
    page = visit(page_server)
    open_photo(page)
    chip(page, 1).click()
    dark = sum(colour(page, *FIRST)[:3])
    page.click("[data-do=quick]")
    finished(page)
    assert sum(colour(page, *FIRST)[:3]) > 1.5 * dark  # right of the middle: after
    page.focus("#divider")
    page.keyboard.press("End")
    assert sum(colour(page, *FIRST)[:3]) == pytest.approx(dark, rel=0.1)
    page.keyboard.press("Home")
    assert sum(colour(page, *FIRST)[:3]) > 1.5 * dark
    page.keyboard.down("x")
    assert sum(colour(page, *FIRST)[:3]) == pytest.approx(dark, rel=0.1)
    page.keyboard.up("x")
    assert sum(colour(page, *FIRST)[:3]) > 1.5 * dark


def test_one_shadow_after_another_goes_and_comes_back(page_server: Served, visit: Opener) -> None:
    picture = scene(WIDTH, HEIGHT)
    page = visit(page_server)
    open_photo(page)
    for number, left in ((1, "1 shadow left"), (2, "No shadow left")):
        chip(page, number).click()
        page.click("[data-do=quick]")
        finished(page)
        assert page.locator(".found").text_content() == left
    _, both = downloaded(page, "[data-do=download]")
    dark = shaded(picture)
    assert (both[dark] == 2 * picture[dark]).all()
    assert (both[~dark] == picture[~dark]).all()
    page.keyboard.press("Control+z")  # the second removal
    page.keyboard.press("Control+z")  # that it was taken
    _, one = downloaded(page, "[data-do=download]")
    small = dark & (np.arange(WIDTH) < WIDTH // 4)
    assert (one[small] == picture[small]).all()
    for _ in range(2):
        page.keyboard.press("Control+z")
    assert page.locator("[data-do=download]").is_disabled()
    assert page.locator("[data-do=undo]").is_disabled()
    for _ in range(4):
        page.keyboard.press("Control+Shift+z")
    assert (downloaded(page, "[data-do=download]")[1] == both).all()


def test_what_is_painted_and_not_erased_goes_window_by_window(
    slow_page_server: Served, visit: Opener
) -> None:
    picture = scene(WIDTH, HEIGHT)
    page = visit(slow_page_server)
    open_photo(page)
    page.keyboard.press("b")
    for _ in range(3):
        page.keyboard.press("]")
    assert int(page.locator("#size").input_value()) > 48
    drag(page, FIRST, (540, 300))
    drag(page, (200, 100), (260, 100))
    page.keyboard.press("e")
    drag(page, (180, 100), (280, 100))
    _, mask = downloaded(page, "[data-do=export]")
    assert mask.shape == (HEIGHT, WIDTH)
    assert mask[FIRST[1], FIRST[0]] == 255
    assert mask[100, 230] == 0
    page.click("[data-do=remove]")
    reads(page, "#words", r"^Window \d+ of 12$")
    with page.expect_response("**/preview*") as preview:
        pass
    assert preview.value.status == 200
    finished(page)
    _, result = downloaded(page, "[data-do=download]")
    assert (result[mask == 0] == picture[mask == 0]).all()
    assert (result[mask > 0] == np.minimum(2 * picture[mask > 0].astype(int), 255)).all()


def test_a_cancelled_removal_changes_nothing_and_the_next_one_works(
    slow_page_server: Served, visit: Opener
) -> None:
    page = visit(slow_page_server)
    open_photo(page)
    chip(page, 1).click()
    dark = colour(page, *FIRST)
    page.click("[data-do=remove]")
    reads(page, "#words", "^Window [2-9]")
    page.get_by_role("button", name="Cancel").click()
    page.wait_for_selector("body[data-state=ready]")
    assert page.locator("#words").text_content() == "Cancelling"
    assert page.locator("#note p").text_content() == "Cancelled. Nothing was changed."
    assert colour(page, *FIRST) == dark
    assert pressed(page, 1)
    assert page.locator("[data-do=download]").is_disabled()
    page.click("[data-do=quick]")
    finished(page)


def test_a_removal_can_be_cancelled_while_its_picture_is_on_the_way(
    page_server: Served, visit: Opener
) -> None:
    page = visit(page_server)
    open_photo(page)
    page.route("**/jobs/*/picture", lambda route: None)
    with page.expect_request("**/jobs/*/picture"):
        page.click("[data-do=quick]")
    page.get_by_role("button", name="Cancel").click()
    page.wait_for_selector("body[data-state=ready]")
    assert page.locator("#note p").text_content() == "Cancelled. Nothing was changed."
    assert page.locator("[data-do=download]").is_disabled()


def test_another_photo_ends_the_removal_that_is_under_way(slow_page_server: Served, visit: Opener) -> None:
    page = visit(slow_page_server)
    open_photo(page)
    page.click("[data-do=remove]")
    reads(page, "#words", "^Window")
    page.set_input_files("#file", named("other.png", encoded(scene(WIDTH, HEIGHT, tint=1))))
    reads(page, "#name", "^other.png")
    reads(page, ".found", "^2 shadows found$")
    assert page.locator("#note").is_hidden()
    page.click("[data-do=quick]")
    finished(page)


def test_a_shadow_that_is_erased_from_the_mask_is_no_longer_chosen(
    page_server: Served, visit: Opener
) -> None:
    page = visit(page_server)
    open_photo(page)
    chip(page, 2).click()
    page.keyboard.press("e")
    set_slider(page, "size", 240)
    drag(page, (120, 150), (120, 330))
    assert not pressed(page, 2)
    assert page.locator("#choice").text_content() == "None selected: both will be removed"


def test_a_mask_goes_out_and_comes_in_again_and_the_last_one_can_be_had_back(
    page_server: Served, visit: Opener
) -> None:
    page = visit(page_server)
    open_photo(page)
    page.click("[data-do=all]")
    _, mask = downloaded(page, "[data-do=export]")
    assert ((mask > 0) == shaded(scene(WIDTH, HEIGHT))).all()
    page.click("[data-do=clear]")
    assert page.locator("[data-do=export]").is_disabled()
    page.set_input_files("#maskfile", named("square.png", encoded(mask[:100, :100])))
    page.wait_for_selector("#note[data-kind=trouble]")
    assert "another shape" in (page.locator("#note p").text_content() or "")
    page.set_input_files("#maskfile", named("mask.png", encoded(mask)))
    page.wait_for_selector("[data-do=export]:enabled")
    assert (downloaded(page, "[data-do=export]")[1] == mask).all()
    assert pressed(page, 1)  # all of it is in the mask
    page.click("[data-do=quick]")
    finished(page)
    assert page.locator(".found").text_content() == "No shadow left"
    page.keyboard.press("l")
    assert (downloaded(page, "[data-do=export]")[1] == mask).all()


def test_another_variant_is_the_same_with_another_seed(page_server: Served, visit: Opener) -> None:
    page = visit(page_server)
    open_photo(page)
    chip(page, 1).click()
    page.click("[data-do=quick]")
    finished(page)
    with page.expect_response("**/jobs") as answer:
        page.keyboard.press("n")
    assert answer.value.json()["base"] is None
    finished(page)
    assert isinstance(page_server.networks, Noting)
    assert [options.seed for options in page_server.networks.noted[-2:]] == [0, 1]
    page.keyboard.press("Control+z")
    assert page.locator("[data-do=redo]").is_enabled()
