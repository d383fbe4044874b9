"""The command with random weights, for the tests of it."""

from pathlib import Path

import pytest
from commands import Command, Ended


@pytest.fixture
def weights(exported: Path) -> Path:
    return exported


@pytest.fixture
def deshadow(weights: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs the command in this process, with weights of its own."""
    from deshadow.cli.app import main

    def run(*arguments: object) -> Ended:
        code = 0
        try:
            main([*map(str, arguments), "--weights", str(weights)])
        except SystemExit as end:
            code = int(end.code or 0)
        return Ended(code, *capsys.readouterr())

    return run
