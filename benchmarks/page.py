"""Measures the size of the page, its first paint in a browser, and the times that a person waits for photos.

python benchmarks/page.py

Other work on the machine makes the times longer; the processor time of the server does not depend on it.
"""

import io
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter
from playwright.sync_api import Browser, sync_playwright
from skimage import data

from deshadow.serve.app import PAGE

VISITS = 9
SIZES = ((1500, 1000), (4000, 3000))
PICTURE = re.compile(r"/jobs/[^/]+/(preview|picture)")
"""What the page shows first: a preview, or the result where that is ready before."""
LOCKED = """() => [...document.querySelectorAll("#panel button, #panel input")]
  .filter((each) => each.checkVisibility() && each.disabled).map((each) => each.dataset.do ?? each.name)"""


def main() -> None:
    found = [path for path in PAGE.rglob("*") if path.is_file()]
    print(f"{len(found)} files, {sum(path.stat().st_size for path in found) / 1000:.0f} KB")
    with serve() as (address, process), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        times = [first_paint(browser, address) for _ in range(VISITS)]
        middle, slowest = statistics.median(times), max(times)
        print(f"first paint: median {middle:.0f} ms, slowest {slowest:.0f} ms of {VISITS} visits")
        for width, height in SIZES:
            photo(browser, address, process, width, height)
        browser.close()


@contextmanager
def serve() -> Iterator[tuple[str, int]]:
    """The address and the process of a server with the shipped weights."""
    command = [sys.executable, "-m", "deshadow", "serve", "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield process.stdout.readline().strip(), process.pid
        finally:
            process.terminate()


def processor_seconds(process: int) -> float:
    """Seconds of one core that a process has used so far (Linux)."""
    user, system = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


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


def photo(browser: Browser, address: str, process: int, width: int, height: int) -> None:
    """Print the times to open a photo, to remove its shadow, to refine the result, and to stop that."""
    page = browser.new_page()
    page.set_default_timeout(600_000)
    page.goto(address)
    began = time.monotonic()

    def seconds(what: str) -> None:
        nonlocal began
        print(f"{width} × {height}, {what}: {time.monotonic() - began:.1f} s")
        began = time.monotonic()

    page.set_input_files(
        "#file", {"name": "a.jpg", "mimeType": "image/jpeg", "buffer": gravel(width, height)}
    )
    began = time.monotonic()
    page.wait_for_selector("body[data-state=ready]")
    seconds("until shown")
    page.wait_for_selector(".chip")
    seconds("until its shadow is outlined")
    used = processor_seconds(process)
    with page.expect_response(PICTURE):
        page.click("[data-do=remove]")
    used = processor_seconds(process) - used
    seconds(f"from the click to a visible result ({used:.1f} s of one core)")
    locked = page.evaluate(LOCKED)
    page.wait_for_selector("#divider:not([hidden])")
    seconds(f"until its files are written too (locked meanwhile: {', '.join(locked) or 'nothing'})")
    page.click("[data-do=refine]")
    page.locator("#left").filter(has_text="left").wait_for()
    print(f"  first estimate: {page.locator('#left').text_content()}")
    page.wait_for_selector("body[data-work='']")
    seconds("refine")
    page.keyboard.press("Control+z")
    page.click("[data-do=refine]")
    page.locator("#words").filter(has_text=re.compile("^Refining: [3-9] of")).wait_for()
    began = time.monotonic()
    page.click("[data-do=keep]")
    page.wait_for_selector("body[data-work='']")
    seconds("stop and keep")
    page.close()


def gravel(width: int, height: int) -> bytes:
    """A JPEG of this size: scikit-image's gravel with a shadow drawn on it."""
    side = max(width, height)
    ground = Image.fromarray(data.gravel()).resize((side, side), Image.Resampling.BICUBIC)
    pixels = np.asarray(ground.convert("RGB"))[:height, :width] / 255 * np.array([0.9, 0.84, 0.76]) + 0.1
    shape = Image.new("L", (width, height))
    corners = [(0.375, 1), (0.45, 0.4), (0.425, 0.23), (0.55, 0.2), (0.5875, 0.37), (0.625, 1)]
    ImageDraw.Draw(shape).polygon([(x * width, y * height) for x, y in corners], fill=255)
    blocked = np.asarray(shape.filter(ImageFilter.GaussianBlur(side / 286)))[..., None] / 255
    lit = (pixels**2.2 * (1 - blocked * np.array([0.68, 0.66, 0.62]))) ** (1 / 2.2)
    out = io.BytesIO()
    Image.fromarray((lit * 255).astype(np.uint8)).save(out, "JPEG", quality=93)
    return out.getvalue()


if __name__ == "__main__":
    main()
