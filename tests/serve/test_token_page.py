"""A browser that opens a protected address is asked for the token, in a page."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from serving import Served, serving

from deshadow.serve.settings import Settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

TOKEN = "correct horse & battery staple"


@pytest.fixture(scope="module")
def locked() -> Iterator[Served]:
    with serving(settings=Settings(host="0.0.0.0", token=TOKEN)) as server:
        yield server


@pytest.mark.parametrize("path", ["/", "/api/docs", "/api/settings"])
def test_a_browser_is_asked_for_the_token(locked: Served, browser: "Browser", path: str) -> None:
    context = browser.new_context(base_url=f"http://127.0.0.1:{locked.port}")
    page, complaints = context.new_page(), list[str]()
    page.on("console", lambda told: complaints.append(told.text) if told.type == "error" else None)
    answer = page.goto(path)
    assert answer is not None
    assert answer.status == 401
    assert "needs a token" in page.inner_text("h1")
    assert page.evaluate("getComputedStyle(document.body).display") == "grid"  # the style is allowed
    assert page.get_by_role("alert").count() == 0
    page.get_by_label("Token").fill("wrong")
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("alert").wait_for()
    assert page.get_by_role("alert").inner_text() == "This token is wrong."
    page.get_by_label("Token").fill(TOKEN)
    page.get_by_role("button", name="Continue").click()
    page.wait_for_url("**/")
    assert page.title() == "page"
    assert "token" not in page.url
    assert not [text for text in complaints if "Content Security Policy" in text]
    context.close()


def test_programs_get_json(locked: Served) -> None:
    for headers in ({}, {"accept": "application/json"}, {"accept": "image/avif,image/webp,*/*"}):
        answer = locked.http.get("/", headers=headers)
        assert answer.status_code == 401
        assert answer.json()["error"]["code"] == "missing_token"
