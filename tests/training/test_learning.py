from pathlib import Path

import torch

from deshadow.training.batches import open_source
from deshadow.training.loop import train
from deshadow.training.options import parse
from deshadow.training.validation import errors, validation_set

OPTIONS = "--recipe tiny --device cpu --images 5600 --val-count 32 --instances 0 --validate-every 100000"


def test_tiny_learns_to_remove_drawn_shadows_and_its_latent_lives(tmp_path: Path) -> None:
    options = parse([*OPTIONS.split(), "--out", str(tmp_path)])
    pairs = validation_set(options, open_source(options, torch.device("cpu")))
    untouched, _, _ = errors(pairs.picture, pairs)
    scores = train(options)
    assert scores.shadow < untouched / 2
    assert scores.latent_deviation > 0.05
    assert scores.latent_worth > 0.5
