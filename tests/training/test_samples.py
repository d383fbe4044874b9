"""The sheet of samples of a run: its columns, and the scale of the latent."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from random_models import SMALL, random_model
from scenes import write_scenes

from deshadow.nn.config import Guidance, ModelConfig
from deshadow.training.batches import dilate_masks, load_held_out_pairs
from deshadow.training.options import DataOptions, parse_training
from deshadow.training.samples import draw_samples

SIDE, HEAD = 32, 4 + 30 + 24
OPTIONS = ["--recipe", "tiny", "--size", str(SIDE), "--images", "4", "--device", "cpu"]


def cells(path: Path, count: int) -> np.ndarray:
    """(rows, columns, 32, 32, 3): the pictures of a sheet."""
    sheet = np.asarray(Image.open(path))
    rows = (sheet.shape[0] - HEAD) // (SIDE + 4)
    assert sheet.shape[1] == count * (SIDE + 4) + 4
    return np.array(
        [
            [
                sheet[HEAD + y * 36 : HEAD + y * 36 + SIDE, 4 + x * 36 : 4 + x * 36 + SIDE]
                for x in range(count)
            ]
            for y in range(rows)
        ]
    )


@pytest.mark.parametrize("guidance", ["latent", "coarse"])
def test_the_guidance_stands_between_mask_and_result_on_one_scale_for_all_rows(
    tmp_path: Path, guidance: Guidance
) -> None:
    write_scenes(tmp_path / "data", count=3, height=48, width=48)
    pairs = load_held_out_pairs(DataOptions(data=tmp_path / "data", size=SIDE), 3, torch.device("cpu"))
    model = random_model(replace(ModelConfig(SMALL, SMALL), guidance=guidance))
    draw_samples(model, pairs, parse_training([*OPTIONS, "--out", str(tmp_path)]), tmp_path / "samples.png")
    shown = cells(tmp_path / "samples.png", 5)
    for column, views in ((0, pairs.picture), (4, pairs.clean)):
        assert np.array_equal(shown[:, column], views.permute(0, 2, 3, 1))
    with torch.no_grad():
        truth = model.encode(pairs.picture.float() / 127.5 - 1, dilate_masks(pairs.mask))
    assert truth is not None
    values = truth.permute(0, 2, 3, 1).numpy()
    black, white = np.percentile(values, (1, 99)) if guidance == "latent" else (-1, 1)
    expected = ((values - black) / (white - black)).clip(0, 1) * 255
    np.testing.assert_allclose(shown[:, 2], np.broadcast_to(expected, shown[:, 2].shape), atol=1)
