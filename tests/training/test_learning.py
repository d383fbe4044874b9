from pathlib import Path

import numpy as np
import torch
from scenes import scene, write_triplet

from deshadow.image.colour import decode_srgb, linear_to_srgb, round_to_8_bits
from deshadow.training.batches import open_source
from deshadow.training.loop import train
from deshadow.training.options import parse_training
from deshadow.training.validation import make_validation_set, measure_errors

OPTIONS = "--recipe tiny --device cpu --size 32 --images 1600 --pretrain 0.3 --warmup 200 --val-count 16"


def write_bands(folder: Path) -> None:
    """24 pairs to train on and 16 to validate on: in a tilted band a quarter of the light is left."""
    rows, columns = np.mgrid[:48, :48]
    for seed in range(40):
        clean = scene(48, 48, seed)[2]
        place = np.random.default_rng(seed).uniform(-15, 25)
        mask = np.where(np.abs(rows - 0.7 * columns - place) < 10, 255, 0).astype(np.uint8)
        picture = np.where(
            mask[..., None] > 0, round_to_8_bits(linear_to_srgb(decode_srgb(clean) * 0.25)), clean
        )
        write_triplet(folder / ("train" if seed < 24 else "val"), str(seed), picture, mask, clean)


def test_tiny_learns_to_remove_shadows_and_uses_its_latent(tmp_path: Path) -> None:
    write_bands(tmp_path / "data")
    options = parse_training(
        [*OPTIONS.split(), "--data", str(tmp_path / "data"), "--out", str(tmp_path / "run")]
    )
    pairs = make_validation_set(options, open_source(options, torch.device("cpu")))
    untouched, _, _ = measure_errors(pairs.picture, pairs)
    scores = train(options)
    assert scores.shadow < untouched / 2  # measured: 11.6 of 41.4
    assert scores.latent_worth > 1.5  # measured: 4.7, and 0 where the latent is a constant
    assert scores.latent_common < 0.5
    assert scores.latent_gap < 0.5
