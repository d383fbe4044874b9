"""The page in a real browser: how photos are opened, gestures and keys, and what it does after errors."""

import numpy as np
import pytest
from browsing import (
    FIRST,
    GROUND,
    HEIGHT,
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
    page.click("[data-do=quick]")
    reads(page, "#words", "^Queue full: trying again in 1 s$")
    finished(page)


def test_a_server_that_is_gone_is_said_and_tried_again(page_server: Served, visit: Opener) -> None:
    page = visit(page_server)
    open_photo(page)
    page.route("**/*", lambda route: route.abort())
    page.click("[data-do=quick]")
    page.wait_for_selector("#note[data-kind=trouble]")
    assert "does not answer" in (page.locator("#note p").text_content() or "")
    page.unroute("**/*")
    page.click("#note [data-do=note]")
    finished(page)


def test_a_photo_that_the_server_forgot_is_sent_again_and_its_mask_can_be_had_back(
    page_server: Served, visit: Opener
) -> None:
    page = visit(page_server)
    with page.expect_response("**/api/photos") as answer:
        open_photo(page)
    chip(page, 1).click()
    page_server.http.delete(f"/api/photos/{answer.value.json()['id']}")
    page.click("[data-do=quick]")
    page.get_by_role("button", name="Send the photo again").click()
    page.wait_for_selector("[data-do=last]:enabled")
    page.click("[data-do=last]")
    page.click("[data-do=quick]")
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
def test_a_photo_can_be_dropped_and_pasted(page_server: Served, visit: Opener, way: str) -> None:
    page = visit(page_server)
    page.evaluate(
        """([way, bytes]) => {
          const carried = new DataTransfer();
          carried.items.add(new File([new Uint8Array(bytes)], "yard.png", { type: "image/png" }));
          document.body.dispatchEvent(way === "drop"
            ? new DragEvent("drop", { dataTransfer: carried, bubbles: true, cancelable: true })
            : new ClipboardEvent("paste", { clipboardData: carried, bubbles: true, cancelable: true }));
        }""",
        [way, list(encoded(scene()))],
    )
    page.wait_for_selector(".chip")


def test_an_example_is_drawn_and_opened(page_server: Served, visit: Opener) -> None:
    page = visit(page_server)
    page.click("[data-example=paving]")
    reads(page, "#name", "^paving.png · 1500 × 1000$")


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
    assert page.locator("[data-do=export]").is_disabled()  # nothing was painted


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
    page.focus("[data-do=quick]")
    with page.expect_event("requestfinished", lambda request: request.url.endswith("/jobs")):
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.dataset.do") == "cancel"
    finished(page)
    assert page.evaluate("document.activeElement.dataset.do") == "quick"
    with page.expect_download():
        page.keyboard.press("d")


def test_the_page_is_small_and_asks_nobody_else() -> None:
    found = [path for path in PAGE.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in found) < 150_000
    for path in found:
        text = path.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text
        assert "https://" not in text
