"""Measures the size of the page, its first paint in a browser, and the times for a photo of 12 megapixels.

Start `deshadow serve --no-browser` first.

python benchmarks/page.py [ADDRESS]
"""

import io
import re
import shutil
import statistics
import sys
import time

import numpy as np
from PIL import Image, ImageDraw, ImageFilter
from playwright.sync_api import Browser, sync_playwright
from skimage import data

from deshadow.serve.app import PAGE

VISITS = 9


def main(address: str = "http://127.0.0.1:8765/") -> None:
    found = [path for path in PAGE.rglob("*") if path.is_file()]
    print(f"{len(found)} files, {sum(path.stat().st_size for path in found) / 1000:.0f} KB")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        times = [first_paint(browser, address) for _ in range(VISITS)]
        middle, slowest = statistics.median(times), max(times)
        print(f"first paint: median {middle:.0f} ms, slowest {slowest:.0f} ms of {VISITS} visits")
        large_photo(browser, address)
        browser.close()


def first_paint(browser: Browser, address: str) -> float:
    """Milliseconds until the first paint, with an empty cache."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector(".example")
    name = "first-contentful-paint"
    milliseconds = page.evaluate(f"performance.getEntriesByName('{name}')[0].startTime")
    context.close()
    return float(milliseconds)


def large_photo(browser: Browser, address: str) -> None:
    """Print the times to open a photo, to remove its shadow in both modes, and to cancel."""
    page = browser.new_page()
    page.set_default_timeout(600_000)
    page.goto(address)
    photo = gravel()
    began = time.monotonic()

    def seconds(what: str) -> None:
        nonlocal began
        print(f"{what}: {time.monotonic() - began:.1f} s")
        began = time.monotonic()

    page.set_input_files("#file", {"name": "gravel.jpg", "mimeType": "image/jpeg", "buffer": photo})
    page.wait_for_selector("body[data-state=ready]")
    seconds("12 megapixels, until shown")
    page.wait_for_selector(".chip")
    seconds("until its shadow is outlined")
    for name in ("quick", "remove"):
        page.click(f"[data-do={name}]")
        page.wait_for_selector("#divider:not([hidden])")
        seconds(name)
        page.keyboard.press("Control+z")
        page.wait_for_selector("[data-do=redo]:enabled")
    page.click("[data-do=remove]")
    page.locator("#words").filter(has_text=re.compile("^Window 3 ")).wait_for()
    began = time.monotonic()
    page.click("[data-do=cancel]")
    page.wait_for_selector("body[data-state=ready]")
    seconds("cancelled during the windows after")
    page.close()


def gravel() -> bytes:
    """A JPEG of 4000×3000 pixels: scikit-image's gravel with a shadow drawn on it."""
    ground = Image.fromarray(data.gravel()).resize((4000, 4000), Image.Resampling.BICUBIC)
    pixels = np.asarray(ground.convert("RGB"))[:3000] / 255 * np.array([0.9, 0.84, 0.76]) + 0.1
    shape = Image.new("L", (4000, 3000))
    corners = [(1500, 3000), (1800, 1200), (1700, 700), (2200, 600), (2350, 1100), (2500, 3000)]
    ImageDraw.Draw(shape).polygon(corners, fill=255)
    blocked = np.asarray(shape.filter(ImageFilter.GaussianBlur(14)))[..., None] / 255
    lit = (pixels**2.2 * (1 - blocked * np.array([0.68, 0.66, 0.62]))) ** (1 / 2.2)
    out = io.BytesIO()
    Image.fromarray((lit * 255).astype(np.uint8)).save(out, "JPEG", quality=93)
    return out.getvalue()


if __name__ == "__main__":
    main(*sys.argv[1:])
