"""The page in a real browser: how photos are opened, gestures and keys, and what it does after errors."""

import numpy as np
import pytest
from browsing import (
    FIRST,
    GROUND,
    HEIGHT,
    SECOND,
    WIDTH,
    Opener,
    chip,
    colour,
    drag,
    finished,
    named,
    open_photo,
    photo,
    place,
    pressed,
    reads,
)
from serving import Served, encoded, scene

from deshadow.serve.app import PAGE


def test_a_full_queue_is_waited_for(page_server: Served, visit: Opener) -> None:
    page = visit(page_server)
    open_photo(page)
    full = '{"error": {"code": "queue_full", "message": "Come back later."}}'
    headers = {"Retry-After": "1", "Content-Type": "application/json"}
    page.route("**/jobs", lambda route: route.fulfill(status=429, headers=headers, body=full), times=1)
    page.click("[data-do=remove]")
    reads(page, "#words", "^Queue full: trying again in 1 s$")
    finished(page)


def test_a_file_that_is_no_picture_is_refused_in_a_sentence(page_server: Served, visit: Opener) -> None:
    page = visit(page_server)
    page.set_input_files("#file", named("a.png", b"no picture"))
    page.wait_for_selector("#note[data-kind=trouble]")
    assert "a.png is not a photo" in (page.locator("#note p").text_content() or "")
    assert page.locator("body").get_attribute("data-state") == "empty"


def test_where_no_shadow_is_found_the_brush_is_offered(page_server: Served, visit: Opener) -> None:
    page = visit(page_server)
    open_photo(page, photo(picture=np.full((HEIGHT, WIDTH, 3), 200, np.uint8)))
    page.click("#note [data-do=note]")
    assert page.locator("[value=brush]").is_checked()


@pytest.mark.parametrize("way", ["drop", "paste"])
def test_photos_can_be_dropped_and_pasted(page_server: Served, visit: Opener, way: str) -> None:
    page = visit(page_server)
    page.evaluate(
        """([way, bytes]) => {
          const carried = new DataTransfer();
          for (const name of ["yard.png", "other.png"]) {
            carried.items.add(new File([new Uint8Array(bytes)], name, { type: "image/png" }));
          }
          document.body.dispatchEvent(way === "drop"
            ? new DragEvent("drop", { dataTransfer: carried, bubbles: true, cancelable: true })
            : new ClipboardEvent("paste", { clipboardData: carried, bubbles: true, cancelable: true }));
        }""",
        [way, list(encoded(scene()))],
    )
    page.wait_for_selector(".chip")
    reads(page, "#name", "^yard.png")
    assert page.locator(".thumb").count() == 2


@pytest.mark.parametrize("name", ["pavement", "lawn", "page"])
def test_an_example_is_opened(page_server: Served, visit: Opener, name: str) -> None:
    page = visit(page_server)
    page.click(f"[data-example={name}]")
    reads(page, "#name", rf"^{name}.jpg · \d+ × \d+$")


def test_the_start_page_compares_before_and_after(page_server: Served, visit: Opener) -> None:
    page = visit(page_server)
    page.wait_for_load_state("networkidle")
    sizes = page.locator(".pair img").evaluate_all(
        "(all) => all.map((each) => [each.naturalWidth, each.naturalHeight])"
    )
    assert sizes[0] == sizes[1] == [900, 600]
    page.locator(".pair input").fill("20")
    assert page.locator(".pair").evaluate("(each) => each.style.getPropertyValue('--at')") == "20%"
    assert page.locator(".links a").get_attribute("href") == "/api/docs"


def test_light_and_dark_can_be_chosen_and_are_remembered(page_server: Served, visit: Opener) -> None:
    page = visit(page_server, color_scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    page.get_by_role("button", name="Switch to the light theme").click()
    light = page.evaluate(ground)
    assert light != dark
    page.reload()
    page.get_by_role("button", name="Switch to the dark theme").wait_for()
    assert page.evaluate(ground) == light


def test_shadows_are_numbered_on_the_photo_and_pointed_at_from_both_sides(
    page_server: Served, visit: Opener
) -> None:
    page = visit(page_server)
    open_photo(page)
    tint = colour(page, *FIRST, "over")
    for number, (x, y) in ((1, place(page, 440, 239)), (2, place(page, 119, 239))):
        box = page.locator(f"[data-badge='{number}']").bounding_box()
        assert box is not None
        assert abs(box["x"] + box["width"] / 2 - x) < 3
        assert abs(box["y"] + box["height"] / 2 - y) < 3
    assert tint[3] > 0
    chip(page, 1).hover()
    page.wait_for_selector("[data-badge='1'].pointed")
    assert colour(page, *FIRST, "over")[3] > tint[3]
    page.mouse.move(*place(page, *SECOND))
    page.wait_for_selector("[data-shadow='2'].pointed")
    page.wait_for_selector("[data-badge='2'].pointed")
    assert page.locator(".pointed").count() == 2


def test_a_hint_is_shown_until_a_shadow_is_selected(page_server: Served, visit: Opener) -> None:
    page = visit(page_server, viewport={"width": 1000, "height": 640})
    open_photo(page)
    assert page.locator("#hint").is_visible()
    chip(page, 1).click()
    assert page.locator("#hint").is_hidden()
    page.keyboard.press("Control+z")
    assert page.locator("#hint").is_hidden()


def test_a_click_beside_any_shadow_says_so_and_offers_the_brush(page_server: Served, visit: Opener) -> None:
    page = visit(page_server)
    open_photo(page)
    page.mouse.click(*place(page, *GROUND))
    reads(page, "#note p", "^There is no known shadow at this spot")
    page.click("#note [data-do=note]")
    assert page.locator("[value=brush]").is_checked()


def test_the_wheel_zooms_on_what_is_under_it_and_space_drags(page_server: Served, visit: Opener) -> None:
    page = visit(page_server)
    open_photo(page)
    whole = page.locator("#zoom").text_content()
    edge = place(page, 320, 240)
    before = colour(page, *FIRST)
    page.mouse.move(*place(page, *FIRST))
    for _ in range(8):
        page.mouse.wheel(0, -200)
    page.locator("#zoom").filter(has_not_text=str(whole)).wait_for()
    assert np.abs(np.subtract(colour(page, *FIRST)[:3], before[:3])).max() < 60  # still in the shadow
    at_middle = colour(page, 320, 240)
    page.keyboard.down(" ")
    page.mouse.down()
    page.mouse.move(edge[0] + 200, edge[1] + 150, steps=3)
    page.mouse.up()
    page.keyboard.up(" ")
    assert colour(page, 320, 240) != at_middle
    assert not pressed(page, 1)
    page.keyboard.press("0")
    assert page.locator("#zoom").text_content() == whole
    page.keyboard.press("1")
    assert page.locator("#zoom").text_content() == "100 %"


def test_space_drags_also_after_a_tool_was_chosen_with_the_mouse(page_server: Served, visit: Opener) -> None:
    page = visit(page_server)
    open_photo(page)
    page.click("label:has([value=brush])")
    page.click("[data-do=closer]")
    seen = colour(page, *FIRST)
    page.keyboard.down(" ")
    drag(page, FIRST, (300, 240))
    page.keyboard.up(" ")
    assert colour(page, *FIRST) != seen
    assert page.locator("[data-do=clear]").is_disabled()  # nothing was painted


def test_fingers_tap_pinch_and_paint(page_server: Served, visit: Opener) -> None:
    page = visit(page_server, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    open_photo(page)
    page.touchscreen.tap(*place(page, *FIRST))
    assert pressed(page, 1)
    touch = page.context.new_cdp_session(page)

    def fingers(kind: str, *points: tuple[float, float]) -> None:
        at = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(points)]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": at})

    page.tap("label:has([value=brush])")
    x, y = place(page, *GROUND)
    fingers("touchStart", (x, y))
    fingers("touchMove", (x + 30, y))
    fingers("touchEnd")
    assert colour(page, *GROUND, "over")[3] > 0
    strokes = page.evaluate("document.querySelectorAll('[data-do=undo]:enabled').length")
    scale = page.locator("#zoom").text_content()
    fingers("touchStart", (150, 300), (250, 300))
    fingers("touchMove", (100, 300), (300, 300))
    fingers("touchEnd")
    assert page.locator("#zoom").text_content() != scale
    assert strokes == 1
    page.tap("[data-do=undo]")
    assert pressed(page, 1)


def test_everything_that_can_be_pressed_has_a_name(page_server: Served, visit: Opener) -> None:
    page = visit(page_server)
    open_photo(page)
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, input:not([tabindex='-1']), [role=slider]")]
          .filter((each) => each.checkVisibility())
          .filter((each) => !(each.ariaLabel || (each.labels?.[0] ?? each).textContent.trim()))
          .map((each) => each.outerHTML)"""
    )
    assert nameless == []


def test_keys_alone_are_enough(page_server: Served, visit: Opener) -> None:
    page = visit(page_server)
    open_photo(page)
    chip(page, 2).focus()
    page.keyboard.press("Enter")
    assert pressed(page, 2)
    assert chip(page, 2).evaluate("(each) => each === document.activeElement")
    page.focus("[data-do=remove]")
    page.keyboard.press("Enter")
    finished(page)
    assert page.evaluate("document.activeElement.dataset.do") == "remove"
    with page.expect_download():
        page.keyboard.press("d")


def test_the_page_is_small_and_asks_nobody_else() -> None:
    found = [path for path in PAGE.rglob("*") if path.is_file() and path.suffix != ".jpg"]
    assert sum(path.stat().st_size for path in found) < 160_000
    assert sum(path.stat().st_size for path in PAGE.rglob("*.jpg")) < 80_000
    for path in found:
        text = path.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text
        assert "https://" not in text
