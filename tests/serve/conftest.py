"""A browser, and servers of the page for it to visit."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browsing import Noting, Opener
from serving import Served, serving
from standin import StandIn

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page

HOW = "no browser to drive: apt-get install chromium, or playwright install --with-deps chromium"


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    # For a module and no longer: while it is there, no other test can run an event loop.
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
def page_server() -> Iterator[Served]:
    with serving(Noting(), page=None) as server:
        yield server


@pytest.fixture(scope="module")
def slow_page_server() -> Iterator[Served]:
    with serving(StandIn(pause=0.15, windows=12), page=None) as server:
        yield server


@pytest.fixture(scope="module")
def window(browser: "Browser") -> Iterator["Page"]:
    """One window that most tests use after each other: the page keeps nothing from one visit to the next."""
    page = browser.new_page(viewport={"width": 1000, "height": 640})
    yield page
    page.close()


@pytest.fixture
def visit(browser: "Browser", window: "Page") -> Iterator[Opener]:
    """Open the page of a server; at the end nothing may have been thrown in it or printed as an error."""
    contexts: list[BrowserContext] = []
    thrown: list[Exception | str] = []

    def note(error: Exception) -> None:
        thrown.append(error)

    def read(message: "ConsoleMessage") -> None:
        # Tests refuse requests on purpose, and the browser notes each; anything else is a fault of the page.
        if message.type == "error" and not message.text.startswith("Failed to load resource"):
            thrown.append(message.text)

    def go(server: Served, **context: Any) -> "Page":
        page = window
        if context:
            contexts.append(browser.new_context(**context))
            page = contexts[-1].new_page()
        page.set_default_timeout(40_000)
        page.on("pageerror", note)
        page.on("console", read)
        page.goto(f"http://127.0.0.1:{server.port}/")
        page.evaluate("localStorage.clear()")
        page.wait_for_selector("[name=dilate][max='64']", state="attached")
        return page

    yield go
    for each in contexts:
        each.close()
    window.unroute_all()
    window.remove_listener("pageerror", note)
    window.remove_listener("console", read)
    assert thrown == []
