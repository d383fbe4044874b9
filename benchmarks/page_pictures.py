"""Makes the pictures of the page: two screenshots for docs/demo.md, and the result that the start page shows.

python benchmarks/page_pictures.py
"""

import io
import shutil
from pathlib import Path

from page import serve
from PIL import Image
from playwright.sync_api import Page, sync_playwright

import deshadow
from deshadow.serve.app import EXAMPLES, PAGE

DOCS = Path(__file__).parents[1] / "docs"
WIDTH, HEIGHT = 1280, 800
MOST_BYTES = 120_000
MINUTES = 10 * 60_000


def main() -> None:
    with Image.open(EXAMPLES / "pavement.jpg") as photo:
        deshadow.remove(photo).save(PAGE / "pavement.deshadowed.jpg", quality=80, optimize=True)
    with serve() as (address, _), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.set_default_timeout(MINUTES)
        page.goto(address)
        page.click("[data-example=lawn]")
        page.wait_for_selector(".chip")
        page.click("[data-shadow='1']")
        page.mouse.move(5, HEIGHT - 5)
        shoot(page, "demo-select.webp")
        page.click("[data-do=remove]")
        page.wait_for_selector("#divider:not([hidden])")
        page.click("[data-do=remove]")
        page.wait_for_selector("#divider:not([hidden])")
        page.wait_for_selector("body[data-work='']")
        page.mouse.move(5, HEIGHT - 5)
        shoot(page, "demo.webp")
        browser.close()


def shoot(page: Page, name: str) -> None:
    """Save a screenshot as WebP, in the best quality that stays below the limit."""
    page.wait_for_timeout(500)
    with Image.open(io.BytesIO(page.screenshot())) as picture:
        for quality in range(90, 30, -10):
            out = io.BytesIO()
            picture.save(out, "WEBP", quality=quality, method=6)
            if out.tell() < MOST_BYTES:
                break
    (DOCS / name).write_bytes(out.getvalue())
    print(f"docs/{name}: {out.tell() / 1000:.0f} kB, quality {quality}")


if __name__ == "__main__":
    main()
