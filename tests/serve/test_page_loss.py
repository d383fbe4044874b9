"""The page in a real browser while its server is killed and started again: nothing is lost."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from browsing import HEIGHT, WIDTH, chip, downloaded, finished, open_photo, pressed, reads, remove
from serving import scene, shaded

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PROGRAM = """
import sys
from standin import StandIn
from deshadow.serve.server import run_server
from deshadow.serve.settings import Settings
run_server(StandIn(pause=0.3, windows=12), Settings(port=int(sys.argv[1])), browser=False)
"""
TESTS = Path(__file__).parent.parent
Start = Callable[[], "subprocess.Popen[str]"]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[int, Start]]:
    """A free port, and a function that starts a server there."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    environment["PYTHONPATH"] = f"{TESTS}{os.pathsep}{environment.get('PYTHONPATH', '')}"
    started: list[subprocess.Popen[str]] = []

    def start() -> "subprocess.Popen[str]":
        command = [sys.executable, "-c", PROGRAM, str(port)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        started.append(process)
        assert process.stdout
        assert process.stdout.readline().startswith("http://127.0.0.1")
        return process

    yield port, start
    for process in started:
        process.kill()
        process.wait()
        assert process.stdout
        process.stdout.close()


@pytest.fixture
def page(browser: "Browser") -> Iterator["Page"]:
    page = browser.new_page(viewport={"width": 1000, "height": 640})
    page.set_default_timeout(60_000)
    thrown: list[Exception] = []

    def note(error: Exception) -> None:
        thrown.append(error)

    page.on("pageerror", note)
    yield page
    page.close()
    assert thrown == []


def start_and_remove(server: tuple[int, Start], page: "Page") -> tuple[subprocess.Popen[str], Start]:
    """Start a server, open a photo on its page and remove the first shadow; start() starts another server."""
    port, start = server
    first = start()
    page.goto(f"http://127.0.0.1:{port}/")
    open_photo(page)
    chip(page, 1).click()
    remove(page)
    return first, start


@pytest.mark.parametrize("way", [signal.SIGTERM, signal.SIGKILL])
def test_a_server_that_goes_away_during_a_removal_takes_nothing_with_it(
    server: tuple[int, Start], page: "Page", way: signal.Signals
) -> None:
    first, start = start_and_remove(server, page)
    chip(page, 2).click()
    page.click("[data-do=remove]")
    reads(page, "#words", "^(Waiting|Removing)")
    first.send_signal(way)
    first.wait()
    reads(page, "#note[data-kind=trouble] p", "^The server does not answer. Photos, masks and results are")
    page.click("[data-do=keep]")  # the person stops: the mask is still there
    page.wait_for_selector("body[data-work='']")
    assert pressed(page, 2)
    page.click("[data-do=remove]")
    start()
    reads(page, "#note p", "^The server is running again.$")
    finished(page)  # the earlier result was computed again, and the removal went on from it
    assert page.locator(".found").text_content() == "No shadow left"
    _, result = downloaded(page, ".files [data-do=download]")
    picture = scene(WIDTH, HEIGHT)
    dark = shaded(picture)
    assert (result[dark] == 2 * picture[dark]).all()
    assert (result[~dark] == picture[~dark]).all()


def test_a_refinement_that_the_server_broke_off_goes_on_by_itself(
    server: tuple[int, Start], page: "Page"
) -> None:
    first, start = start_and_remove(server, page)
    page.click("[data-do=refine]")
    reads(page, "#words", "^Refining: [1-9]")  # the job runs, and SIGTERM cancels it
    first.terminate()
    first.wait()
    reads(page, "#note[data-kind=trouble] p", "^The server does not answer.")
    start()
    finished(page)
    assert page.locator("[data-do=refine]").is_hidden()  # it is refined


def test_a_result_can_be_downloaded_although_the_server_was_started_again(
    server: tuple[int, Start], page: "Page"
) -> None:
    first, start = start_and_remove(server, page)
    first.kill()
    first.wait()
    start()
    _, result = downloaded(page, ".files [data-do=download]")
    picture = scene(WIDTH, HEIGHT)
    large = shaded(picture) & (np.arange(WIDTH) >= WIDTH // 4)
    assert (result[large] == 2 * picture[large]).all()
    assert (result[~large] == picture[~large]).all()
