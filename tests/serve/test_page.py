"""The page in a real browser, against a real server whose networks are a stand-in: from photo to download."""

import time

import numpy as np
import pytest
from browsing import (
    FIRST,
    GROUND,
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
    open_advanced,
    open_photo,
    place,
    pressed,
    reads,
    remove,
    set_slider,
)
from serving import Served, encoded, scene, serving, shaded
from standin import StandIn


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
    page.get_by_role("button", name="Remove shadow").click()
    finished(page)
    name, result = downloaded(page, ".files [data-do=download]")
    large = shaded(picture) & (np.arange(WIDTH) >= WIDTH // 4)
    assert name == "yard.deshadowed.png"
    assert result.shape == picture.shape
    assert (result[~large] == picture[~large]).all()
    assert (result[large] == 2 * picture[large]).all()


def test_a_photo_comes_back_in_its_own_format_under_its_own_name(page_server: Served, visit: Opener) -> None:
    page = visit(page_server)
    open_photo(page, named("Höfe, 1.jpeg", encoded(scene(WIDTH, HEIGHT), "JPEG", quality=95)))
    remove(page)
    name, result = downloaded(page, ".files [data-do=download]")
    assert name == "Höfe, 1.deshadowed.jpeg"
    assert result.shape == (HEIGHT, WIDTH, 3)


def test_the_grown_mask_is_seen_as_the_slider_moves_and_sent_as_it_stands(
    page_server: Served, visit: Opener
) -> None:
    page = visit(page_server)
    open_photo(page)
    open_advanced(page)
    set_slider(page, "feather", 0)
    set_slider(page, "dilate", 0)
    chip(page, 1).click()
    outside = 560 + 15, 240
    assert colour(page, *FIRST, "over")[3] > 0
    assert colour(page, *outside, "over")[3] == 0
    set_slider(page, "dilate", 20)
    assert colour(page, *outside, "over")[3] > 0
    remove(page)
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
    remove(page)
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
        page.click("[data-do=remove]")
        finished(page)
        assert page.locator(".found").text_content() == left
    _, both = downloaded(page, ".files [data-do=download]")
    dark = shaded(picture)
    assert (both[dark] == 2 * picture[dark]).all()
    assert (both[~dark] == picture[~dark]).all()
    page.keyboard.press("Control+z")  # the second removal
    page.keyboard.press("Control+z")  # that it was selected
    _, one = downloaded(page, ".files [data-do=download]")
    small = dark & (np.arange(WIDTH) < WIDTH // 4)
    assert (one[small] == picture[small]).all()
    for _ in range(2):
        page.keyboard.press("Control+z")
    assert page.locator(".files [data-do=download]").is_disabled()
    assert page.locator("[data-do=undo]").is_disabled()
    for _ in range(4):
        page.keyboard.press("Control+Shift+z")
    assert (downloaded(page, ".files [data-do=download]")[1] == both).all()


def test_what_is_painted_and_not_erased_is_removed_and_refined_window_by_window(
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
    open_advanced(page)
    _, mask = downloaded(page, "[data-do=export]")
    assert mask.shape == (HEIGHT, WIDTH)
    assert mask[FIRST[1], FIRST[0]] == 255
    assert mask[100, 230] == 0
    remove(page)
    page.click("[data-do=refine]")
    reads(page, "#words", r"^Refining: \d+ of 12$")
    with page.expect_response("**/preview*") as preview:
        pass
    assert preview.value.status == 200
    finished(page)
    _, result = downloaded(page, ".files [data-do=download]")
    assert (result[mask == 0] == picture[mask == 0]).all()
    assert (result[mask > 0] == np.minimum(2 * picture[mask > 0].astype(int), 255)).all()
    assert page.locator("[data-do=refine]").is_hidden()  # nothing is left to refine


def test_a_refinement_that_is_stopped_keeps_what_is_done(visit: Opener) -> None:
    picture = scene(WIDTH, HEIGHT)
    with serving(StandIn(pause=0.15, windows=60), page=None) as server:
        page = visit(server)
        open_photo(page)
        remove(page)
        page.click("[data-do=refine]")
        reads(page, "#words", "^Refining: (1[5-9]|2[0-9]) of 60")  # the small shadow on the left is done
        reads(page, "[data-do=keep]", "^Stop and keep$")
        page.click("[data-do=keep]")
        reads(page, "#note p", "^Stopped. What is refined so far is kept.$")
        finished(page)
        _, kept = downloaded(page, ".files [data-do=download]")
        changed, dark = (kept != picture).any(-1), shaded(picture)
        small = dark & (np.arange(WIDTH) < WIDTH // 4)
        assert (changed == dark)[small].all()
        assert not changed[:, WIDTH * 27 // 32 :].any()  # the right end of the large shadow is not
        page.keyboard.press("Control+z")  # the quick result is still there
        _, quick = downloaded(page, ".files [data-do=download]")
        assert ((quick != picture).any(-1) == dark).all()


def test_nothing_is_locked_while_a_refinement_runs(slow_page_server: Served, visit: Opener) -> None:
    page = visit(slow_page_server)
    open_photo(page)
    chip(page, 1).click()
    remove(page)
    page.click("[data-do=refine]")
    reads(page, "#words", "^Refining: [1-9]")
    page.mouse.click(*place(page, *SECOND))
    assert pressed(page, 2)
    downloaded(page, ".files [data-do=download]")
    locked = page.evaluate(
        """() => [...document.querySelectorAll("#panel button, #panel input, .bar button")]
          .filter((each) => each.checkVisibility() && each.disabled)
          .map((each) => each.dataset.do ?? each.name)"""
    )
    assert set(locked) <= {"redo", "refine", "repeat"}
    page.click("[data-do=remove]")  # the refinement ends with what it has done, and the next removal follows
    finished(page)
    assert page.locator(".found").text_content() == "No shadow left"


def test_a_removal_that_is_stopped_changes_nothing_and_the_next_one_works(
    page_server: Served, visit: Opener
) -> None:
    page = visit(page_server)
    open_photo(page)
    chip(page, 1).click()
    dark = colour(page, *FIRST)
    page.route("**/jobs/*/picture", lambda route: None)
    with page.expect_request("**/jobs/*/picture"):
        page.click("[data-do=remove]")
    page.get_by_role("button", name="Stop").click()
    page.wait_for_selector("body[data-work='']")
    assert page.locator("#note p").text_content() == "Stopped. Nothing was changed."
    assert colour(page, *FIRST) == dark
    assert pressed(page, 1)
    assert page.locator(".files [data-do=download]").is_disabled()
    page.unroute("**/jobs/*/picture")
    remove(page)


def test_every_undo_is_seen(page_server: Served, visit: Opener) -> None:
    page = visit(page_server)
    open_photo(page)
    chip(page, 1).click()
    dark = colour(page, *FIRST)
    remove(page)
    chip(page, 2).click()
    page.mouse.move(*place(page, *GROUND))  # away from the chip, which highlights its shadow
    selected = colour(page, *SECOND, "over")
    remove(page)
    assert page.locator("#divider").is_visible()
    page.keyboard.press("Control+z")
    page.locator("#divider").wait_for(state="hidden")  # it would hide the mask
    assert page.locator("#note p").text_content() == "Undone: Removal"
    page.mouse.move(*place(page, *GROUND))
    assert colour(page, *SECOND, "over") == selected
    page.keyboard.press("c")
    page.keyboard.press("Control+z")
    reads(page, "#note p", "^Undone: Shadow 2 selected$")
    page.locator("#divider").wait_for(state="hidden")
    assert colour(page, *SECOND, "over") != selected
    page.keyboard.press("Control+z")
    reads(page, "#note p", "^Undone: Removal$")
    assert colour(page, *FIRST) == dark
    page.keyboard.press("Control+Shift+z")
    reads(page, "#note p", "^Redone: Removal$")
    deadline = time.monotonic() + 5
    while sum(colour(page, *FIRST)[:3]) <= 1.5 * sum(dark[:3]):  # the result is decoded before it is drawn
        assert time.monotonic() < deadline


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
    open_advanced(page)
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
    remove(page)
    assert page.locator(".found").text_content() == "No shadow left"
    page.keyboard.press("l")
    assert (downloaded(page, "[data-do=export]")[1] == mask).all()


def test_a_mask_of_the_photos_shape_is_scaled_and_another_or_an_empty_one_refused(
    page_server: Served, visit: Opener
) -> None:
    page = visit(page_server)
    open_photo(page)
    open_advanced(page)
    mask = shaded(scene(WIDTH, HEIGHT)).astype(np.uint8) * 255
    for wrong, words in (
        (np.full((100, 100), 255, np.uint8), "the mask is 100 × 100, the photo 640 × 480.$"),
        (np.zeros_like(mask), "^This mask is all black: it marks no shadow.$"),
    ):
        page.set_input_files("#maskfile", named("wrong.png", encoded(wrong)))
        reads(page, "#note[data-kind=trouble] p", words)
        assert page.locator("[data-do=export]").is_disabled()
    page.set_input_files("#maskfile", named("half.png", encoded(mask[::2, ::2])))
    page.wait_for_selector("[data-do=export]:enabled")
    assert (downloaded(page, "[data-do=export]")[1] == mask).all()


def test_a_removal_is_repeated_with_the_current_settings_in_place_of_its_result(
    page_server: Served, visit: Opener
) -> None:
    page = visit(page_server)
    open_photo(page)
    chip(page, 1).click()
    remove(page)
    open_advanced(page)
    set_slider(page, "strength", 0.5)
    with page.expect_response("**/jobs") as answer:
        page.keyboard.press("n")
    assert answer.value.json()["base"] is None
    finished(page)
    assert isinstance(page_server.networks, Noting)
    assert [options.strength for options in page_server.networks.noted[-2:]] == [1, 0.5]
    page.keyboard.press("Control+z")
    assert page.locator("[data-do=redo]").is_enabled()
