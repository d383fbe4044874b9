"""The page in a real browser, against a real server whose networks are a stand-in."""

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray
from serving import Served, decoded, encoded, scene, serving, shaded
from standin import StandIn

from deshadow.remover import Options, Progress, Relit
from deshadow.serve import files

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

HOW = "no browser to drive: apt-get install chromium, or playwright install --with-deps chromium"
WIDTH, HEIGHT = 640, 480
FIRST, SECOND, GROUND = (440, 240), (120, 240), (250, 60)
"""Points in the large shadow, in the small one and in neither."""
FOLDER = Path(files.__file__).parent / "page"

Opener = Callable[..., "Page"]


class Noting(StandIn):
    """A stand-in that remembers what it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.noted: list[Options] = []

    def relight(
        self,
        pixels: NDArray[np.float32],
        mask: NDArray[np.float32] | None,
        options: Options,
        progress: Callable[[Progress], None] | None,
    ) -> Relit | None:
        self.noted.append(options)
        return super().relight(pixels, mask, options, progress)


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    sync_api = pytest.importorskip("playwright.sync_api", reason=HOW)
    with sync_api.sync_playwright() as playwright:
        own = Path(playwright.chromium.executable_path)
        found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
        if found is None and not own.exists():
            pytest.skip(HOW)
        arguments = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=found, args=arguments)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(Noting(), page=None) as server:
        yield server


@pytest.fixture(scope="module")
def slow() -> Iterator[Served]:
    with serving(StandIn(pause=0.25, windows=12), page=None) as server:
        yield server


@pytest.fixture
def visit(browser: "Browser") -> Iterator[Opener]:
    """Open the page of a server; at the end nothing may have been thrown in it."""
    contexts, thrown = [], []

    def go(server: Served, **context: Any) -> "Page":
        contexts.append(
            browser.new_context(**{"viewport": {"width": 1200, "height": 760}, "accept_downloads": True, **context})
        )
        page = contexts[-1].new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: thrown.append(error))
        page.goto(f"http://127.0.0.1:{server.port}/")
        page.wait_for_selector("[name=dilate][max='64']", state="attached")
        return page

    yield go
    for context in contexts:
        context.close()
    assert thrown == []


def photo(kind: str = "PNG", picture: NDArray[np.uint8] | None = None, **options: Any) -> Any:
    picture = scene(WIDTH, HEIGHT) if picture is None else picture
    return {
        "name": f"yard.{kind.lower()}",
        "mimeType": f"image/{kind.lower()}",
        "buffer": encoded(picture, kind, **options),
    }


def open_photo(page: "Page", file: Any = None) -> None:
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
    page.wait_for_selector("#divider:not([hidden])")
    page.wait_for_selector("body[data-state=ready]")


def downloaded(page: "Page", press: str) -> tuple[str, NDArray[np.uint8]]:
    with page.expect_download() as download:
        page.click(press)
    return download.value.suggested_filename, decoded(Path(download.value.path()).read_bytes())


def set_slider(page: "Page", name: str, value: float) -> None:
    page.locator(f"[name={name}]").fill(str(value))


def test_a_click_takes_a_shadow_quick_removes_it_and_the_rest_stays_bit_for_bit(
    served: Served, visit: Opener
) -> None:
    picture = scene(WIDTH, HEIGHT)
    page = visit(served)
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


def test_a_photo_comes_back_in_its_own_format(served: Served, visit: Opener) -> None:
    page = visit(served)
    open_photo(page, photo("JPEG", quality=95))
    page.click("[data-do=quick]")
    finished(page)
    name, result = downloaded(page, "[data-do=download]")
    assert name == "yard.deshadowed.jpeg"
    assert result.shape == (HEIGHT, WIDTH, 3)


def test_the_grown_mask_is_seen_as_the_slider_moves_and_sent_as_it_stands(
    served: Served, visit: Opener
) -> None:
    page = visit(served)
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
    assert isinstance(served.networks, Noting)
    assert served.networks.noted[-1].dilate == 20
    assert served.networks.noted[-1].feather == 0


def test_before_and_after_lie_on_either_side_of_a_divider_that_keys_move(
    served: Served, visit: Opener
) -> None:
    page = visit(served)
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


def test_one_shadow_after_another_goes_and_comes_back(served: Served, visit: Opener) -> None:
    picture = scene(WIDTH, HEIGHT)
    page = visit(served)
    open_photo(page)
    for number, left in ((1, "1 shadow left"), (2, "All shadows found are gone")):
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


def test_what_is_painted_and_not_erased_goes_window_by_window(slow: Served, visit: Opener) -> None:
    picture = scene(WIDTH, HEIGHT)
    page = visit(slow)
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


def drag(page: "Page", start: tuple[int, int], end: tuple[int, int]) -> None:
    page.mouse.move(*place(page, *start))
    page.mouse.down()
    page.mouse.move(*place(page, *end), steps=5)
    page.mouse.up()


def test_a_cancelled_removal_changes_nothing_and_the_next_one_works(slow: Served, visit: Opener) -> None:
    page = visit(slow)
    open_photo(page)
    chip(page, 1).click()
    dark = colour(page, *FIRST)
    page.click("[data-do=remove]")
    reads(page, "#words", "^Window [2-9]")
    page.get_by_role("button", name="Cancel").click()
    page.wait_for_selector("body[data-state=ready]")
    assert page.locator("#note p").text_content() == "Cancelled. Nothing was changed."
    assert colour(page, *FIRST) == dark
    assert pressed(page, 1)
    assert page.locator("[data-do=download]").is_disabled()
    page.click("[data-do=quick]")
    finished(page)


def test_a_mask_goes_out_and_comes_in_again_and_the_last_one_can_be_had_back(
    served: Served, visit: Opener, tmp_path: Path
) -> None:
    page = visit(served)
    open_photo(page)
    page.click("[data-do=all]")
    _, mask = downloaded(page, "[data-do=export]")
    assert ((mask > 0) == shaded(scene(WIDTH, HEIGHT))).all()
    page.click("[data-do=clear]")
    assert page.locator("[data-do=export]").is_disabled()
    square = {"name": "m.png", "mimeType": "image/png", "buffer": encoded(mask[:100, :100])}
    page.set_input_files("#maskfile", square)
    page.wait_for_selector("#note[data-kind=trouble]")
    assert "another shape" in (page.locator("#note p").text_content() or "")
    page.set_input_files("#maskfile", {**square, "buffer": encoded(mask)})
    page.wait_for_selector("[data-do=export]:enabled")
    assert (downloaded(page, "[data-do=export]")[1] == mask).all()
    page.click("[data-do=quick]")
    finished(page)
    page.keyboard.press("l")
    assert (downloaded(page, "[data-do=export]")[1] == mask).all()


def test_another_variant_is_the_same_with_another_seed(served: Served, visit: Opener) -> None:
    page = visit(served)
    open_photo(page)
    chip(page, 1).click()
    page.click("[data-do=quick]")
    finished(page)
    with page.expect_response("**/jobs") as answer:
        page.keyboard.press("n")
    assert answer.value.json()["base"] is None
    finished(page)
    assert isinstance(served.networks, Noting)
    assert [options.seed for options in served.networks.noted[-2:]] == [0, 1]
    page.keyboard.press("Control+z")
    assert page.locator("[data-do=redo]").is_enabled()


def test_a_full_queue_is_waited_for(served: Served, visit: Opener) -> None:
    page = visit(served)
    open_photo(page)
    full = '{"error": {"code": "queue_full", "message": "Come back later."}}'
    headers = {"Retry-After": "1", "Content-Type": "application/json"}
    page.route("**/jobs", lambda route: route.fulfill(status=429, headers=headers, body=full), times=1)
    page.click("[data-do=quick]")
    reads(page, "#words", "^Queue full: again in 1 s$")
    finished(page)


def test_a_server_that_is_gone_is_said_and_tried_again(served: Served, visit: Opener) -> None:
    page = visit(served)
    open_photo(page)
    page.route("**/*", lambda route: route.abort())
    page.click("[data-do=quick]")
    page.wait_for_selector("#note[data-kind=trouble]")
    assert "does not answer" in (page.locator("#note p").text_content() or "")
    page.unroute("**/*")
    page.click("#note [data-do=note]")
    finished(page)


def test_a_file_that_is_no_picture_is_refused_in_a_sentence(served: Served, visit: Opener) -> None:
    page = visit(served)
    page.set_input_files("#file", {"name": "a.png", "mimeType": "image/png", "buffer": b"no picture"})
    page.wait_for_selector("#note[data-kind=trouble]")
    assert "a.png is not a photo" in (page.locator("#note p").text_content() or "")
    assert page.locator("body").get_attribute("data-state") == "empty"


def test_where_no_shadow_is_found_the_brush_is_offered(served: Served, visit: Opener) -> None:
    page = visit(served)
    open_photo(page, photo(picture=np.full((HEIGHT, WIDTH, 3), 200, np.uint8)))
    page.click("#note [data-do=note]")
    assert page.locator("[value=brush]").is_checked()


@pytest.mark.parametrize("way", ["drop", "paste"])
def test_a_photo_can_be_dropped_and_pasted(served: Served, visit: Opener, way: str) -> None:
    page = visit(served)
    page.evaluate(
        """async ([way, bytes]) => {
          const carried = new DataTransfer();
          carried.items.add(new File([new Uint8Array(bytes)], "yard.png", { type: "image/png" }));
          document.body.dispatchEvent(way === "drop"
            ? new DragEvent("drop", { dataTransfer: carried, bubbles: true, cancelable: true })
            : new ClipboardEvent("paste", { clipboardData: carried, bubbles: true, cancelable: true }));
        }""",
        [way, list(encoded(scene(WIDTH, HEIGHT)))],
    )
    page.wait_for_selector(".chip")


def test_an_example_is_drawn_and_opened(served: Served, visit: Opener) -> None:
    page = visit(served)
    page.click("[data-example=paving]")
    reads(page, "#name", "^paving.png · 1500 × 1000$")


def test_the_wheel_zooms_on_what_is_under_it_and_space_drags(served: Served, visit: Opener) -> None:
    page = visit(served)
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


def test_fingers_tap_pinch_and_paint(served: Served, visit: Opener) -> None:
    page = visit(served, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
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


def test_everything_that_can_be_pressed_has_a_name(served: Served, visit: Opener) -> None:
    page = visit(served)
    open_photo(page)
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, input:not([tabindex='-1']), [role=slider]")]
          .filter((each) => each.checkVisibility())
          .filter((each) => !(each.ariaLabel || each.textContent.trim() || each.labels?.[0]?.textContent.trim()))
          .map((each) => each.outerHTML)"""
    )
    assert nameless == []


def test_keys_alone_are_enough(served: Served, visit: Opener) -> None:
    page = visit(served)
    open_photo(page)
    chip(page, 2).focus()
    page.keyboard.press("Enter")
    assert pressed(page, 2)
    assert chip(page, 2).evaluate("(each) => each === document.activeElement")
    page.keyboard.press("q")
    finished(page)
    with page.expect_download():
        page.keyboard.press("d")


def test_the_page_is_small_and_asks_nobody_else() -> None:
    found = [path for path in FOLDER.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in found) < 150_000
    for path in found:
        text = path.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text
        assert "https://" not in text
