import os
import pty
import subprocess
import sys

import pytest

WITHOUT_RICH = (
    "import sys; sys.modules['rich'] = None; import importlib.util as u; f = u.find_spec; "
    "u.find_spec = lambda name: None if name == 'rich' else f(name); "
)
WORK = "from deshadow.system.progress import track; print(sum(track(range(4), 'Counting', 4)))"


def run(code: str, *, terminal: bool) -> tuple[str, str]:
    """What a program prints on standard output and on standard error, which may be a terminal."""
    if not terminal:
        ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        return ended.stdout, ended.stderr
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    ended = subprocess.run(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
        check=True,
        env=environment,
    )
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 4096):
            shown += part
    except OSError:  # how Linux says that nobody writes any more
        pass
    os.close(ours)
    return ended.stdout, shown.decode()


@pytest.mark.parametrize("without", ["", WITHOUT_RICH])
def test_a_terminal_shows_a_bar_with_and_without_rich(without: str) -> None:
    result, shown = run(without + WORK, terminal=True)
    assert result == "6\n"
    assert "Counting" in shown
    assert "4/4" in shown


@pytest.mark.parametrize("without", ["", WITHOUT_RICH])
def test_nothing_is_shown_where_there_is_no_terminal(without: str) -> None:
    assert run(without + WORK, terminal=False) == ("6\n", "")


def test_training_starts_without_rich() -> None:
    result, _ = run(WITHOUT_RICH + "import deshadow.training.__main__; print('fine')", terminal=False)
    assert result == "fine\n"
