"""Training whose validations keep the lit pixels of the photos."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from random_models import SMALL, random_model
from scenes import write_scenes

from deshadow.nn.config import ModelConfig, make_unconditional
from deshadow.runtime.torch_backend import TorchBackend
from deshadow.training.batches import dilate_masks, load_held_out_pairs
from deshadow.training.journal import read_log
from deshadow.training.loop import train
from deshadow.training.options import DataOptions, parse_training
from deshadow.training.validation import remove_shadows

TINY = ["--recipe", "tiny", "--size", "32", "--batch", "4", "--val-count", "2", "--device", "cpu"]
TINY += ["--predicts", "noise", "--final", "0", "--val-steps", "2", "--images", "4"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    write_scenes(folder, count=3, height=64, width=64)
    return folder


def test_a_validation_keeps_the_lit_pixels_and_each_picture_has_its_own_noise(data: Path) -> None:
    pairs = load_held_out_pairs(DataOptions(data=data, size=64), 3, torch.device("cpu"))
    backend = TorchBackend(random_model(ModelConfig(SMALL, SMALL, predicts="noise")))
    kept = remove_shadows(backend, pairs, 3, 0, anchor="lit")
    lit = (dilate_masks(pairs.mask) == 0).expand_as(kept)
    assert lit.any()
    assert torch.equal(kept[lit], pairs.picture[lit])
    assert not torch.equal(kept[~lit], pairs.picture[~lit])
    first = remove_shadows(backend, type(pairs)(*(view[:1] for view in pairs)), 3, 0, anchor="lit")
    assert (first[0].int() - kept[0].int()).abs().max() <= 1


def test_repaint_gives_each_validation_picture_random_numbers_of_its_own(data: Path) -> None:
    pairs = load_held_out_pairs(DataOptions(data=data, size=32), 2, torch.device("cpu"))
    backend = TorchBackend(random_model(make_unconditional(ModelConfig(SMALL, SMALL))))
    both = remove_shadows(backend, pairs, 3, 0)
    alone = remove_shadows(backend, type(pairs)(*(view[:1] for view in pairs)), 3, 0)
    assert (alone[0].int() - both[0].int()).abs().max() <= 1


def test_the_figures_of_a_run_and_its_samples_are_of_kept_pixels(data: Path, tmp_path: Path) -> None:
    scores, results = {}, {}
    for anchor in ("none", "lit"):
        out = tmp_path / anchor
        train(parse_training([*TINY, "--data", str(data), "--val-anchor", anchor, "--out", str(out)]))
        scores[anchor] = [line for line in read_log(out) if line["kind"] == "validation"][-1]
        sheet = np.asarray(Image.open(out / "samples.png").convert("RGB")).astype(int)
        results[anchor] = sheet
    assert scores["lit"]["non_shadow"] < scores["none"]["non_shadow"] / 2
    assert (results["lit"] != results["none"]).any()
