"""How large the page is, and how soon a browser paints it. Start `deshadow serve --no-browser` first.

python benchmarks/page.py [ADDRESS]
"""

import shutil
import statistics
import sys
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from deshadow.serve import files

VISITS = 9


def main(address: str = "http://127.0.0.1:8765/") -> None:
    found = [path for path in (Path(files.__file__).parent / "page").rglob("*") if path.is_file()]
    print(f"{len(found)} files, {sum(path.stat().st_size for path in found) / 1000:.0f} KB")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        times = [first_paint(browser, address) for _ in range(VISITS)]
        browser.close()
    middle, slowest = statistics.median(times), max(times)
    print(f"first paint: median {middle:.0f} ms, slowest {slowest:.0f} ms of {VISITS} visits")


def first_paint(browser: Browser, address: str) -> float:
    """Milliseconds from the click to the first thing seen, with nothing in the cache."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector(".example")
    name = "first-contentful-paint"
    milliseconds = page.evaluate(f"performance.getEntriesByName('{name}')[0].startTime")
    context.close()
    return float(milliseconds)


if __name__ == "__main__":
    main(*sys.argv[1:])
