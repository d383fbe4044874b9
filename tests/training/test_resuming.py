"""Runs that are killed, interrupted, paused or continued end as unbroken ones."""

import json
import random
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_models import random_model
from training_runs import finish, last, options, start, tensors

from deshadow.nn.config import find_preset
from deshadow.runtime import checkpoint
from deshadow.training.endings import catch_signals
from deshadow.training.journal import LOG, read_log
from deshadow.training.loop import train
from deshadow.training.state import STATE


def test_two_processes_give_the_weights_of_one(tmp_path: Path) -> None:
    runs = [
        start(tmp_path / "one", "--images", "80", "--pretrain", "0.4"),
        start(tmp_path / "two", "--images", "80", "--pretrain", "0.4", processes=2),
    ]
    for run in runs:
        finish(run)
    one, two = tensors(tmp_path / "one"), tensors(tmp_path / "two")
    assert one.keys() == two.keys()
    assert any(name.startswith("frozen.") for name in one)
    for name in one:
        # An absolute difference near 0 may turn its gradient round, which shows in the optimizer's averages.
        close = 1e-3 if name.startswith("optimizer.") else 1e-4
        np.testing.assert_allclose(two[name], one[name], atol=close, err_msg=name)


def counters(out: Path) -> dict[str, Any]:
    # From the header alone, which is one read: a run that is going may replace the file between two.
    found: dict[str, Any] = json.loads(checkpoint.read_header(out / STATE)[1]["counters"])
    return found


TWO_STAGES = ["--images", "96", "--pretrain", "0.5", "--save-every", "0"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two stages that nothing interrupted."""
    out = tmp_path_factory.mktemp("whole")
    finish(start(out, *TWO_STAGES))
    return out


@pytest.mark.parametrize("stage", [1, 2])
def test_a_run_killed_in_either_stage_ends_as_an_unbroken_one(
    whole: Path, tmp_path: Path, stage: int
) -> None:
    broken = tmp_path / "broken"
    run = start(broken, *TWO_STAGES)
    while not (broken / STATE).exists() or counters(broken)["pretrained"] != (stage == 2):
        assert run.poll() is None
        time.sleep(0.02)
    time.sleep(random.Random(0).uniform(0, 0.1))
    run.send_signal(signal.SIGKILL)
    run.communicate()
    assert counters(broken)["images"] < 96
    finish(start(broken, *TWO_STAGES, "--resume"))
    ends = [last(whole, "train"), last(broken, "train")]
    assert ends[0]["images"] == ends[1]["images"] == 96
    assert ends[1]["total"] == pytest.approx(ends[0]["total"], rel=1e-5)
    expected, found = tensors(whole), tensors(broken)
    assert {name.partition(".")[0] for name in expected} == {"model", "average", "frozen", "optimizer"}
    for name, tensor in expected.items():
        np.testing.assert_allclose(found[name], tensor, atol=1e-5, err_msg=name)


def test_a_run_is_validated_once_at_each_point(tmp_path: Path) -> None:
    train(options(tmp_path, "--images", "24", "--validate-every", "16"))
    train(options(tmp_path, "--images", "32", "--validate-every", "32", "--resume"))
    lines = [json.loads(text) for text in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [line["images"] for line in lines if line["kind"] == "validation"] == [16, 24, 32]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_saves_the_state_and_says_so(tmp_path: Path, number: signal.Signals, code: int) -> None:
    run = start(tmp_path, "--images", "1000000", "--log-every", "1000000")
    log = tmp_path / "log.jsonl"
    while not log.exists() or not log.stat().st_size:
        assert run.poll() is None
        time.sleep(0.05)
    time.sleep(1)
    run.send_signal(number)
    _, errors = run.communicate(timeout=120)
    assert run.returncode == code
    assert b"continue with --resume" in errors
    assert json.loads(checkpoint.read_checkpoint(tmp_path / STATE).notes["counters"])["images"] > 0


def test_a_second_interrupt_ends_a_run_before_its_step_is_done() -> None:
    with catch_signals() as caught:
        signal.raise_signal(signal.SIGINT)
        assert caught == {"signal": signal.SIGINT}
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_a_run_can_be_paused_and_goes_on_without_having_decayed(tmp_path: Path) -> None:
    train(options(tmp_path, "--minutes", "1000", "--pause-after", "0.0001"))
    assert {line["kind"] for line in read_log(tmp_path)} == {"begin", "train"}  # no time for a validation
    rate = last(tmp_path, "train")["rate"]
    assert rate == pytest.approx(2e-3 * 8 / 500, rel=1e-3)  # still in the warm-up
    paused = json.loads(checkpoint.read_checkpoint(tmp_path / STATE).notes["counters"])
    train(options(tmp_path, "--images", str(paused["images"] + 8), "--resume"))
    resumed = json.loads(checkpoint.read_checkpoint(tmp_path / STATE).notes["counters"])
    assert resumed["images"] == paused["images"] + 8
    assert resumed["elapsed"] > paused["elapsed"]


def test_a_run_that_is_resumed_with_other_options_says_which(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train(options(tmp_path, "--images", "8", "--mixup", "0.5", "--hue", "12"))
    train(options(tmp_path, "--images", "16", "--mixup", "0.5", "--hue", "12", "--resume"))
    assert "other options" not in capsys.readouterr().err
    train(options(tmp_path, "--images", "24", "--mixup", "0.5", "--rate", "1e-3", "--resume"))
    assert "resumed with other options: --hue 0.0 (before: 12.0), --rate 0.001 (before: 0.002)" in (
        capsys.readouterr().err
    )


def test_a_full_disk_leaves_the_old_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train(options(tmp_path, "--images", "8"))
    before = (tmp_path / STATE).read_bytes()

    def full(path: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(checkpoint, "write_whole", full)
    with pytest.raises(OSError, match="No space left"):
        train(options(tmp_path, "--images", "16", "--resume"))
    assert (tmp_path / STATE).read_bytes() == before


def test_a_run_is_not_begun_over_another(tmp_path: Path) -> None:
    train(options(tmp_path, "--images", "4"))
    with pytest.raises(ValueError, match="holds a run already"):
        train(options(tmp_path, "--images", "4"))
    with pytest.raises(ValueError, match="was asked for"):
        train(options(tmp_path, "--images", "8", "--resume", "--fusion", "map"))


def test_a_run_that_saved_nothing_is_begun_anew(tmp_path: Path) -> None:
    (tmp_path / LOG).write_text('{"kind": "begin", "images": 0}\n{"kind": "train", "images": 3200}\n')
    train(options(tmp_path, "--images", "4"))
    assert [line["images"] for line in read_log(tmp_path) if line["kind"] == "train"] == [4]


def test_the_initial_weights_are_not_needed_to_resume(tmp_path: Path) -> None:
    initial = tmp_path / "initial.safetensors"
    checkpoint.save_model(initial, random_model(find_preset("tiny")))
    given = ("--images", "16", "--init", str(initial), "--pretrain", "0")
    train(options(tmp_path / "whole", *given))
    train(options(tmp_path / "run", *given, "--pause-after", "1e-6"))
    initial.unlink()
    train(options(tmp_path / "run", *given, "--resume"))
    ended = tensors(tmp_path / "run")
    assert all((tensor == ended[name]).all() for name, tensor in tensors(tmp_path / "whole").items())
    # Nor need they be named.
    train(options(tmp_path / "run", "--images", "16", "--pretrain", "0", "--resume"))


def test_a_finished_run_is_not_trained_on(tmp_path: Path) -> None:
    train(options(tmp_path, "--images", "16"))
    before = tensors(tmp_path)
    train(options(tmp_path, "--images", "16", "--resume"))
    assert all((tensor == before[name]).all() for name, tensor in tensors(tmp_path).items())


def test_the_log_of_a_finished_run_ends_with_its_end_after_it_was_resumed(tmp_path: Path) -> None:
    for more in ([], ["--resume"]):
        train(options(tmp_path, "--images", "16", *more))
        assert read_log(tmp_path)[-1]["kind"] == "end"


def test_a_log_that_ends_in_half_a_line_is_read(tmp_path: Path) -> None:
    train(options(tmp_path, "--images", "16"))
    whole = read_log(tmp_path)
    with (tmp_path / "log.jsonl").open("a") as log:
        log.write('{"kind": "train", "ima')
    assert read_log(tmp_path) == whole
