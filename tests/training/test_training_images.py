"""The images that a run is trained and validated on, and the figures of a validation."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from training_runs import options, write_pairs

from deshadow.data.augment import Pairs
from deshadow.data.rng import Draws
from deshadow.image.colour import srgb_to_lab
from deshadow.metrics.pooling import pool, sharpness
from deshadow.metrics.scores import score
from deshadow.training import validation
from deshadow.training.batches import dilate_masks, draw_masks, find_split, open_source
from deshadow.training.loop import train
from deshadow.training.state import WEIGHTS
from deshadow.training.validation import make_validation_set


def test_half_of_the_images_may_begin_where_sampling_does(tmp_path: Path) -> None:
    chosen = options(tmp_path, "--images", "8", "--final", "0.5")
    draws = Draws(0, torch.arange(400))
    times = open_source(chosen, torch.device("cpu")).times(draws)
    assert 0.4 < (times == 1000).float().mean() < 0.6
    assert times.min() >= 1
    assert len(set(times.tolist())) > 100


def test_images_do_not_depend_on_the_batch_that_they_come_in(tmp_path: Path) -> None:
    data = write_pairs(tmp_path / "data")
    varied = ["--extra", str(data), "--extra-share", "0.3"]
    varied += ["--coloured", "0.5", "--responses", "0.5", "--mixup", "0.5"]
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


def test_both_pictures_and_masks_of_two_pairs_are_mixed(tmp_path: Path) -> None:
    data = write_pairs(tmp_path / "data")
    chosen = options(tmp_path / "run", "--images", "1", "--data", str(data), "--mixup", "0.5")
    source, count = open_source(chosen, torch.device("cpu")), 400
    assert source.real is not None
    shape = source.real.picture.shape[1:]
    # Pair n has the level 20 n in the picture and 10 more in the clean picture; its mask is row n.
    number = torch.arange(len(source.real.picture))
    level = (20 * number).byte().view(-1, 1, 1, 1).expand(-1, *shape)
    shaded = torch.zeros_like(source.real.mask)
    shaded[number, :, number] = True
    source = replace(source, real=Pairs(level, shaded, level + 10))
    draws = Draws(0, torch.arange(count))
    given = Pairs(*(view[:1].expand(count, -1, -1, -1) for view in (level, shaded, level + 10)))
    mixed = source.mix(given, draws)
    assert (mixed.clean.int() - mixed.picture.int() == 10).all()
    brightness, rows = mixed.picture[:, 0, 0, 0].int(), mixed.mask[:, 0, :, 0]
    assert rows[:, 0].all()
    others = rows[:, 1:].float().argmax(1) + 1
    changed = rows[:, 1:].any(1)
    assert 0.25 < changed.float().mean() < 0.5  # one in three is mixed with itself
    assert (brightness[~changed] == 0).all()
    share = brightness[changed] / (20 * others[changed])
    assert (share <= 1).all()
    assert share.min() < 0.2
    assert share.max() > 0.8


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


def test_runs_without_pairs_are_validated_on_the_same_pictures(tmp_path: Path) -> None:
    one = options(tmp_path, "--images", "1", "--exposure", "0", "--hue", "20")
    source = open_source(one, torch.device("cpu"))
    other = replace(options(tmp_path, "--images", "1", "--coloured", "1"), seed=1)
    for ours, theirs in zip(
        make_validation_set(one, source), make_validation_set(other, source.for_run(other)), strict=True
    ):
        assert torch.equal(ours, theirs)


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
