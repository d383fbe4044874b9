import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from random_models import random_model

from deshadow.data.augment import Pairs
from deshadow.data.rng import Draws
from deshadow.image.colour import srgb_to_lab
from deshadow.metrics.pooling import pool, sharpness
from deshadow.metrics.scores import score
from deshadow.nn.config import find_preset
from deshadow.nn.lfg import LFGDiffusion
from deshadow.runtime import checkpoint
from deshadow.training import objectives, setup, validation
from deshadow.training.batches import dilate_masks, draw_masks, find_split, open_source
from deshadow.training.clock import share_by_clock
from deshadow.training.journal import read_log
from deshadow.training.loop import train
from deshadow.training.objectives import Batch, Criterion, Losses
from deshadow.training.options import TrainingOptions, parse_training
from deshadow.training.state import STATE, WEIGHTS, State
from deshadow.training.tasks import REMOVAL, new_remover
from deshadow.training.validation import make_validation_set

ONE_STAGE = ["--pretrain", "0", "--invariant-target", "detached"]
SHORT = ["--recipe", "tiny", "--size", "32", "--batch", "4", "--val-count", "4", "--log-every", "8"]


def options(out: Path, *more: str) -> TrainingOptions:
    return parse_training([*SHORT, "--device", "cpu", "--out", str(out), *more])


def start(out: Path, *more: str, processes: int = 1) -> subprocess.Popen[bytes]:
    launcher = ["-m", "deshadow.training"]
    if processes > 1:
        launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}", *launcher]
    command = [sys.executable, *launcher, *SHORT, "--device", "cpu", "--out", str(out), *more]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, stderr=subprocess.PIPE, env=environment)


def finish(run: subprocess.Popen[bytes]) -> None:
    _, errors = run.communicate()
    assert run.returncode == 0, errors.decode()


def tensors(out: Path) -> dict[str, np.ndarray]:
    return checkpoint.read_checkpoint(out / STATE).tensors


def last(out: Path, kind: str) -> dict[str, Any]:
    return [line for line in read_log(out) if line["kind"] == kind][-1]


def write_pairs(folder: Path, splits: Iterable[str] = ("train", "val"), count: int = 3) -> Path:
    rng = np.random.default_rng(0)
    for split in splits:
        for part in ("shadow", "mask", "shadow_free"):
            (folder / split / part).mkdir(parents=True)
        for k in range(count):
            clean = rng.integers(60, 255, (40, 48, 3), dtype=np.uint8)
            mask = np.zeros((40, 48), np.uint8)
            mask[10:30, 10:30] = 255
            picture = np.where(mask[..., None] > 0, clean // 3, clean)
            for part, view in (("shadow", picture), ("mask", mask), ("shadow_free", clean)):
                Image.fromarray(view).save(folder / split / part / f"{k}.png")
    return folder


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


def test_stage_one_comes_first_and_its_encoder_stays_frozen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stages: list[int] = []
    ends: list[dict[str, np.ndarray]] = []

    class Watched(Criterion):
        def pretraining_loss(self, batch: Batch) -> Losses:
            stages.append(1)
            return super().pretraining_loss(batch)

        def joint_loss(self, batch: Batch) -> Losses:
            stages.append(2)
            return super().joint_loss(batch)

    class Ending(State):
        def end_stage_one(self) -> None:
            super().end_stage_one()
            ends.append({name: tensor.numpy().copy() for name, tensor in self.tensors().items()})

    monkeypatch.setattr(objectives, "Criterion", Watched)
    monkeypatch.setattr(setup, "State", Ending)
    train(options(tmp_path, "--images", "32", "--pretrain", "0.5"))
    assert stages == [1] * 4 + [2] * 4
    (frozen,) = ends
    after = tensors(tmp_path)
    encoder = [name.removeprefix("frozen.") for name in frozen if name.startswith("frozen.")]
    assert encoder
    for name in encoder:
        np.testing.assert_array_equal(frozen[f"frozen.{name}"], frozen[f"average.encoder.{name}"])
        np.testing.assert_array_equal(after[f"frozen.{name}"], frozen[f"frozen.{name}"])
    assert any((after[f"model.encoder.{name}"] != frozen[f"model.encoder.{name}"]).any() for name in encoder)


def test_without_a_latent_there_is_no_stage_one(tmp_path: Path) -> None:
    train(options(tmp_path, "--images", "16", "--pretrain", "0.5", "--guidance", "coarse"))
    assert {line["stage"] for line in read_log(tmp_path) if line["kind"] == "train"} == {2}
    assert not [name for name in tensors(tmp_path) if name.startswith("frozen.")]


@pytest.mark.parametrize("encoder", ["other", "new", None])
def test_the_encoder_is_taken_from_where_the_options_say(tmp_path: Path, encoder: str | None) -> None:
    for seed, name in enumerate(("init", "other")):
        checkpoint.save_model(
            tmp_path / f"{name}.safetensors", random_model(find_preset("tiny"), seed), half=False
        )
    given = {
        name: checkpoint.read_checkpoint(tmp_path / f"{name}.safetensors").tensors
        for name in ("init", "other")
    }
    more = ["--init", str(tmp_path / "init.safetensors")]
    if encoder is not None:
        more += ["--encoder", str(tmp_path / "other.safetensors") if encoder == "other" else encoder]
    model = new_remover(options(tmp_path / "run", "--images", "4", *more))
    for name, tensor in model.state_dict().items():
        origin = encoder or "init" if name.startswith("encoder.") else "init"
        same = {each for each in given if np.array_equal(tensor.numpy(), given[each][name])}
        assert same == ({origin} if origin in given else set()) or not tensor.any(), name


def test_weights_without_a_bypass_start_a_model_with_one(tmp_path: Path) -> None:
    tiny = find_preset("tiny")
    plain = random_model(replace(tiny, denoiser=replace(tiny.denoiser, bypass=False)))
    checkpoint.save_model(tmp_path / "plain.safetensors", plain, half=False)
    more = ["--init", str(tmp_path / "plain.safetensors"), "--encoder", "new"]
    model = new_remover(options(tmp_path / "run", "--images", "4", *more))
    found, given = model.denoiser.state_dict(), plain.denoiser.state_dict()
    assert {name for name in found if name not in given} == {"bypass.weight", "bypass.bias"}
    assert all(
        torch.equal(found[name], given[name]) if name in given else not found[name].any() for name in found
    )


def test_an_encoder_of_another_shape_is_refused(tmp_path: Path) -> None:
    checkpoint.save_model(tmp_path / "light.safetensors", LFGDiffusion(find_preset("light")))
    chosen = options(tmp_path, "--images", "4", "--encoder", str(tmp_path / "light.safetensors"))
    with pytest.raises(ValueError, match="name weights whose networks fit"):
        new_remover(chosen)


def test_the_model_is_that_of_the_task_that_is_given(tmp_path: Path) -> None:
    given = random_model(find_preset("tiny"))
    train(options(tmp_path, "--images", "4", "--rate", "0"), task=replace(REMOVAL, model=lambda _: given))
    saved = tensors(tmp_path)
    for name, tensor in random_model(find_preset("tiny")).state_dict().items():
        np.testing.assert_array_equal(saved[f"model.{name}"], tensor.numpy(), err_msg=name)


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


def test_a_run_can_be_paused_and_goes_on_without_having_decayed(tmp_path: Path) -> None:
    train(options(tmp_path, "--minutes", "1000", "--pause-after", "0.0001"))
    assert [line["kind"] for line in read_log(tmp_path)][-1] == "validation"
    rate = last(tmp_path, "train")["rate"]
    assert rate == pytest.approx(2e-3 * 8 / 500, rel=1e-3)  # still in the warm-up
    paused = json.loads(checkpoint.read_checkpoint(tmp_path / STATE).notes["counters"])
    train(options(tmp_path, "--images", str(paused["images"] + 8), "--resume"))
    resumed = json.loads(checkpoint.read_checkpoint(tmp_path / STATE).notes["counters"])
    assert resumed["images"] == paused["images"] + 8
    assert resumed["elapsed"] > paused["elapsed"]


def test_minutes_end_a_run_with_the_decay_done(tmp_path: Path) -> None:
    train(options(tmp_path, "--minutes", "0.05", "--warmup", "0"))
    assert last(tmp_path, "train")["rate"] < 0.1 * 2e-3
    assert read_log(tmp_path)[-1]["kind"] == "end"


def test_compiling_uses_up_minutes_but_is_no_progress() -> None:
    # A hundred images took 1 s, after 30 s of compiling; 69 s are left for 6,900 more.
    assert share_by_clock(100, 100, 31.0, 30.0, 100.0) == pytest.approx(100 / 7000)
    assert share_by_clock(3500, 100, 31.0, 30.0, 100.0) == pytest.approx(0.5)
    assert share_by_clock(7000, 7000, 100.0, 30.0, 100.0) == 1
    assert share_by_clock(0, 0, 0.0, 0.0, 100.0) == 0


def test_half_of_the_images_may_begin_where_sampling_does(tmp_path: Path) -> None:
    chosen = options(tmp_path, "--images", "8", "--final", "0.5")
    draws = Draws(0, torch.arange(400))
    times = open_source(chosen, torch.device("cpu")).times(draws)
    assert 0.4 < (times == 1000).float().mean() < 0.6
    assert times.min() >= 1
    assert len(set(times.tolist())) > 100


def test_released_weights_load_and_carry_their_recipe_but_no_paths(tmp_path: Path) -> None:
    data = write_pairs(tmp_path / "data")
    train(options(tmp_path / "run", "--images", "8", "--data", str(data), "--synthetic", "0.5"))
    weights = checkpoint.read_checkpoint(tmp_path / "run" / WEIGHTS)
    assert {tensor.dtype for tensor in weights.tensors.values()} == {np.dtype(np.float16)}
    assert json.loads(weights.notes["recipe"])["synthetic"] == 0.5
    assert str(tmp_path) not in "".join(weights.notes.values())
    with Image.open(tmp_path / "run" / "samples.png") as sheet:
        # Three pictures under a note and headings; picture, mask, latent, result, truth.
        assert sheet.size == (5 * 36 + 4, 3 * 36 + 4 + 24 + 30)


def test_images_do_not_depend_on_the_batch_that_they_come_in(tmp_path: Path) -> None:
    data = write_pairs(tmp_path / "data")
    varied = ("--extra", str(data), "--extra-share", "0.3", "--coloured", "0.5", "--responses", "0.5")
    chosen = options(tmp_path / "run", "--images", "1", "--data", str(data), "--synthetic", "0.5", *varied)
    source = open_source(chosen, torch.device("cpu"))
    together = source.batch(16, 12)
    kinds = [source.kind(n) for n in range(16, 28)]
    assert {"real", "extra", "sunlight", "instances"} == set(kinds)
    order = sorted(range(12), key=lambda k: kinds.index(kinds[k]))
    for place, k in enumerate(order):
        alone = source.batch(16 + k, 1)
        for ours, theirs in zip(alone, together, strict=True):
            torch.testing.assert_close(ours[0], theirs[place], atol=1e-6, rtol=0)


def test_masks_do_not_grow_into_shadows_that_stay(tmp_path: Path) -> None:
    source = open_source(options(tmp_path, "--images", "1", "--seed", "3"), torch.device("cpu"))
    numbers = range(64)
    scenes = source.scenes("instances", numbers)
    assert not (scenes.mask & scenes.protected).any()
    assert (dilate_masks(scenes.mask).bool() & scenes.protected).flatten(1).any(1).sum() > 10
    draws = Draws(3, torch.arange(64))
    seen = draw_masks(scenes.mask, scenes.protected, draws, 0.5)
    careful = ~draws.chance("mask/degraded", of=0.5)
    assert 10 < careful.sum() < 54
    assert not (seen.bool() & scenes.protected)[careful].any()
    assert (seen.bool() | ~scenes.mask)[careful].all()


def test_the_shares_of_real_and_synthetic_images_are_those_asked_for(tmp_path: Path) -> None:
    data = write_pairs(tmp_path / "data")
    chosen = options(tmp_path / "run", "--images", "1", "--data", str(data), "--synthetic", "0.3")
    source = open_source(chosen, torch.device("cpu"))
    kinds = [source.kind(n) for n in range(1000)]
    assert kinds.count("real") == pytest.approx(700, abs=5)
    assert kinds.count("instances") == pytest.approx(150, abs=5)


def test_an_exploding_loss_rolls_back_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = iter(range(10**6))

    class Exploding(Criterion):
        def joint_loss(self, batch: Batch) -> Losses:
            losses = super().joint_loss(batch)
            return Losses(losses.total * float("nan"), *losses[1:]) if next(calls) == 5 else losses

    monkeypatch.setattr(objectives, "Criterion", Exploding)
    train(options(tmp_path, "--images", "64", *ONE_STAGE))
    lines = read_log(tmp_path)
    assert [line["images"] for line in lines if line["kind"] == "rollback"] == [24]
    assert all(np.isfinite(line["total"]) for line in lines if line["kind"] == "train")
    assert all(np.isfinite(tensor).all() for tensor in tensors(tmp_path).values())


def test_a_loss_that_never_recovers_ends_with_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(Criterion):
        def joint_loss(self, batch: Batch) -> Losses:
            losses = super().joint_loss(batch)
            return Losses(losses.total * float("nan"), *losses[1:])

    monkeypatch.setattr(objectives, "Criterion", Broken)
    with pytest.raises(ValueError, match="smaller --rate"):
        train(options(tmp_path, "--images", "800", *ONE_STAGE))


def test_lag_moves_the_denoiser_before_the_encoder(tmp_path: Path) -> None:
    train(options(tmp_path, "--images", "8", "--lag", "3", *ONE_STAGE, "--weight-decay", "0"))
    torch.manual_seed(0)
    before = LFGDiffusion(find_preset("tiny")).state_dict()
    after = tensors(tmp_path)
    moved = {
        name for name, tensor in before.items() if not np.array_equal(tensor.numpy(), after[f"model.{name}"])
    }
    assert any(name.startswith("denoiser.") for name in moved)
    assert not any(name.startswith("encoder.") for name in moved)


def test_a_full_disk_leaves_the_old_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train(options(tmp_path, "--images", "8"))
    before = (tmp_path / STATE).read_bytes()

    def full(path: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(checkpoint, "write_whole", full)
    with pytest.raises(OSError, match="No space left"):
        train(options(tmp_path, "--images", "16", "--resume"))
    assert (tmp_path / STATE).read_bytes() == before


def test_released_weights_start_a_new_run(tmp_path: Path) -> None:
    train(options(tmp_path / "first", "--images", "8"))
    weights = str(tmp_path / "first" / WEIGHTS)
    train(options(tmp_path / "second", "--images", "4", "--init", weights, "--rate", "0"))
    first, second = (
        checkpoint.read_checkpoint(tmp_path / run / WEIGHTS).tensors for run in ("first", "second")
    )
    for name in first:
        np.testing.assert_array_equal(first[name], second[name])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--images", "8", "--resume"], "no run to resume"),
        (["--images", "8", "--data", "{empty}"], "no data set that is recognised"),
        (["--images", "8", "--data", "{pairs}", "--val-split", "test"], "no split 'test'"),
        (["--images", "8", "--data", "{masks}"], "problem"),
        (["--images", "8", "--init", "sunny"], "no weights 'sunny'"),
        (["--images", "8", "--init", "{light}"], "'light' was asked for|holds preset"),
        (["--images", "8", "--preset", "huge"], "unknown preset"),
        (["--images", "8", "--recipe", "soup"], "unknown recipe"),
        (["--images", "0"], "--images must be a number above 0"),
        (["--images", "8", "--synthetic", "2"], "--synthetic is a share"),
        (["--images", "8", "--device", "toaster"], "cannot compute on the device"),
        (["--images", "many"], "invalid int value"),
        (["--minutes", "nan"], "--minutes must be a number above 0"),
        (["--images", "8", "--lag", "-1"], "--lag must be a number, 0 or above"),
        (["--images", "8", "--clip", "nan"], "--clip must be a number"),
        (["--images", "8", "--val-steps", "1001"], "number of steps"),
        (["--images", "8", "--data", "{pairs}", "--out", "{pairs}/train/shadow"], "lies in the data"),
        (["--images", "8", "--size", "20"], "--size must be a multiple of 8"),
        (["--images", "8", "--weighting", "p2"], "use it with --predicts noise"),
        (["--images", "8", "--no-blind"], "take --predicts noise"),
        (["--images", "8", "--pretrain", "0"], "no trained encoder to freeze"),
        (["--frobnicate"], "unrecognized arguments"),
        ([], "say how long to train"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, arguments: list[str], message: str) -> None:
    places = {name: tmp_path / name for name in ("empty", "pairs", "masks", "light")}
    places["empty"].mkdir()
    write_pairs(places["pairs"])
    write_pairs(places["masks"])
    (places["masks"] / "train" / "mask" / "0.png").rename(places["masks"] / "train" / "mask" / "other.png")
    places["light"] = tmp_path / "light.safetensors"
    checkpoint.save_model(places["light"], LFGDiffusion(find_preset("light")))
    filled = [argument.format(**{k: str(v) for k, v in places.items()}) for argument in arguments]
    with pytest.raises(ValueError, match=message):
        train(options(tmp_path / "run", *filled))
    assert not (tmp_path / "run" / STATE).exists()


def test_a_run_is_not_begun_over_another(tmp_path: Path) -> None:
    train(options(tmp_path, "--images", "4"))
    with pytest.raises(ValueError, match="holds a run already"):
        train(options(tmp_path, "--images", "4"))
    with pytest.raises(ValueError, match="was asked for"):
        train(options(tmp_path, "--images", "8", "--resume", "--fusion", "map"))


def test_training_imports_nothing_beyond_torch_numpy_pillow_and_safetensors() -> None:
    code = """
import sys
import torch, numpy.random, PIL.Image, PIL.ImageOps, safetensors.numpy, torch.nn.parallel
before = {name.partition(".")[0] for name in sys.modules} | set(sys.stdlib_module_names)
import deshadow.training.__main__
print(sorted({name.partition(".")[0] for name in sys.modules} - before - {"PIL"}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['deshadow']\n"


def test_validation_pictures_keep_their_way_up(tmp_path: Path) -> None:
    data = write_pairs(tmp_path / "data")
    for path in (data / "val").rglob("*.png"):
        with Image.open(path) as picture:
            view = np.array(picture)
        if view.ndim == 3:
            view[:10] = 255  # a bright sky
            view[10:] //= 4
        Image.fromarray(view).save(path)
    chosen = options(tmp_path / "run", "--images", "1", "--data", str(data))
    pairs = make_validation_set(chosen, open_source(chosen, torch.device("cpu")))
    assert pairs.clean[:, :, :6].float().mean() > 250
    assert pairs.clean[:, :, 10:].float().mean() < 70


def test_a_set_without_splits_is_trained_on_whole(tmp_path: Path) -> None:
    data = write_pairs(tmp_path / "data", splits=["."])
    train(options(tmp_path / "run", "--images", "8", "--data", str(data)))
    assert (tmp_path / "run" / WEIGHTS).exists()


def test_test_serves_for_validation_where_there_is_no_val(tmp_path: Path) -> None:
    data = write_pairs(tmp_path / "data", splits=["train", "test"])
    chosen = options(tmp_path / "run", "--images", "1", "--data", str(data))
    assert {sample.split for sample in find_split(chosen.inputs, None, "val", "test")} == {"test"}
    assert {sample.split for sample in find_split(chosen.inputs, None, "train")} == {"train"}


def test_a_stage_may_have_a_much_larger_loss_than_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Easy(Criterion):
        def pretraining_loss(self, batch: Batch) -> Losses:
            return Losses(*(loss * 1e-4 for loss in super().pretraining_loss(batch)))

    monkeypatch.setattr(objectives, "Criterion", Easy)
    train(options(tmp_path, "--images", "96", "--pretrain", "0.4"))
    assert not [line for line in read_log(tmp_path) if line["kind"] == "rollback"]


def test_a_finished_run_is_not_trained_on(tmp_path: Path) -> None:
    train(options(tmp_path, "--images", "16"))
    before = tensors(tmp_path)
    train(options(tmp_path, "--images", "16", "--resume"))
    assert all((tensor == before[name]).all() for name, tensor in tensors(tmp_path).items())


def test_a_log_that_ends_in_half_a_line_is_read(tmp_path: Path) -> None:
    train(options(tmp_path, "--images", "16"))
    whole = read_log(tmp_path)
    with (tmp_path / "log.jsonl").open("a") as log:
        log.write('{"kind": "train", "ima')
    assert read_log(tmp_path) == whole


@pytest.mark.parametrize(
    "kind",
    [
        ["--sees", "picture", "--guidance", "none"],  # Palette
        ["--sees", "nothing", "--guidance", "none", "--predicts", "noise", "--val-steps", "3"],  # RePaint
    ],
)
def test_the_diffusion_baselines_are_trained_by_the_same_loop(tmp_path: Path, kind: list[str]) -> None:
    scores = train(options(tmp_path, "--images", "8", *kind))
    assert np.isfinite(scores.shadow)
    assert checkpoint.read_config(tmp_path / WEIGHTS)[0].sees == kind[1]


def test_the_figures_of_a_validation_are_those_of_the_evaluation() -> None:
    rng = np.random.default_rng(0)
    clean = rng.integers(0, 256, (2, 24, 20, 3), dtype=np.uint8)
    removed = (clean // 2 + 50).astype(np.uint8)
    mask = rng.random((2, 24, 20)) < 0.7
    scores = [score(*each) for each in zip(removed, clean, mask, strict=True)]
    regions = pool(scores)
    pictures, truths = (torch.from_numpy(view).permute(0, 3, 1, 2) for view in (removed, clean))
    pairs = Pairs(torch.empty(0), torch.from_numpy(mask)[:, None], truths)
    assert validation.measure_sharpness(pictures, pairs) == pytest.approx(sharpness(scores), rel=1e-4)
    assert validation.mean_psnr(pictures, truths) == pytest.approx(regions["all"].psnr)
    expected = [regions[name].lab_mae for name in ("shadow", "non_shadow", "all")]
    assert validation.measure_errors(pictures, pairs) == pytest.approx(expected, rel=1e-4)


def test_lab_on_the_device_is_the_lab_of_the_house() -> None:
    picture = np.random.default_rng(0).integers(0, 256, (9, 7, 3), dtype=np.uint8)
    ours = srgb_to_lab(torch.from_numpy(picture).permute(2, 0, 1)[None] / 255)[0].permute(1, 2, 0)
    np.testing.assert_allclose(ours.numpy(), srgb_to_lab(picture), atol=1e-3)
