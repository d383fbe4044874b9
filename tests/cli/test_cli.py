import subprocess
import sys
from pathlib import Path

import pytest
from random_models import FLAT, random_model

from deshadow.__main__ import main
from deshadow.nn.config import ModelConfig
from deshadow.runtime.checkpoint import save_model


def deshadow(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "deshadow", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_help_and_version_answer_without_loading_anything_heavy() -> None:
    code = """
import sys
from deshadow.cli.app import main
try:
    main(["--help"])
finally:
    print(sorted({"torch", "numpy", "onnxruntime", "PIL", "safetensors"} & set(sys.modules)), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"
    assert "models" in done.stdout
    assert deshadow("--version").stdout.strip()


def test_models_lists_the_presets_in_a_terminal_of_80_columns() -> None:
    done = deshadow("models")
    assert done.returncode == 0
    assert max(map(len, done.stdout.splitlines())) <= 80
    rows = {line.split("│")[1].strip(): line for line in done.stdout.splitlines() if "│" in line}
    assert "82.58" in rows["paper"]
    assert list(rows) == ["paper", "distilled", "light", "tiny", "detector", "detector-tiny"]
    assert "3.58" in rows["detector"]


def test_models_counts_the_pass_as_it_is_padded() -> None:
    assert (
        deshadow("models", "--size", "250").stdout.split("│")[1:]
        == (deshadow("models", "--size", "256").stdout.split("│")[1:])
    )


def test_export_writes_graphs_beside_the_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "small.safetensors"
    save_model(path, random_model(ModelConfig(FLAT, FLAT)))
    done = deshadow("export", path)
    assert done.stdout.split() == [
        str(path.with_suffix(".encoder.onnx")),
        str(path.with_suffix(".denoiser.onnx")),
    ]
    assert done.stderr == ""
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize(
    "arguments",
    [
        ["frobnicate"],
        ["models", "--size", "zero"],
        ["models", "--size", "0"],
        ["export"],
        ["export", "missing.safetensors"],
        ["export", "sunny"],
        ["export", "."],
        ["curves", "."],
        ["synth", "--count", "1", "--out", "/dev/null/x"],
        ["synth", "--count", "1", "--out", "unused", "--device", "toaster"],
        ["train", "--images", "nine"],
        ["evaluate", "missing", "--compare", "input"],
    ],
)
def test_what_a_user_gets_wrong_is_one_line_and_exit_code_2(arguments: list[str]) -> None:
    done = deshadow(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("deshadow: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("where", ["deshadow.cli.app.app", "deshadow.cli.app.main"])
def test_ctrl_c_says_that_it_stopped(
    where: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a command, and before one begins."""

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(where, interrupt)
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 130
    assert capsys.readouterr().err == "deshadow: stopped\n"


def test_arguments_too_many_are_named() -> None:
    done = deshadow("detect", "a.png", "b.png", "-o", "m.png")
    assert done.returncode == 2
    assert done.stderr == "deshadow: too many arguments: b.png\n"
