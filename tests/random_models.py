"""Models with random weights, and what to feed them."""

import numpy as np
import torch

from deshadow.diffusion.arrays import FloatArray
from deshadow.nn.config import ModelConfig, UNetShape
from deshadow.nn.lfg import LFGDiffusion

SMALL = UNetShape(base=8, multipliers=(1, 2), blocks=1, attention=(1,), head_channels=8, fold=2)
FLAT = UNetShape(base=8, multipliers=(1,), blocks=1, head_channels=8, fold=2)
"""One level: a third of the nodes of SMALL, so that an export takes a third of the time."""


def random_model(config: ModelConfig, seed: int = 0) -> LFGDiffusion:
    """A model none of whose layers is zero or small, unlike one that is about to be trained."""
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(seed)
        model = LFGDiffusion(config)
        for parameter in model.parameters():
            spread = 0.3 if parameter.ndim == 1 else parameter[0].numel() ** -0.5
            parameter.add_(torch.randn(parameter.shape) * spread)
    return model.eval()


def random_pair(
    height: int, width: int, *, batch: int = 1, seed: int = 0
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Picture (B, 3, H, W) in [-1, 1], mask (B, 1, H, W) of zeros and ones, noise like the picture."""
    rng = np.random.default_rng(seed)
    picture = rng.uniform(-1, 1, (batch, 3, height, width)).astype(np.float32)
    mask = (rng.uniform(size=(batch, 1, height, width)) > 0.5).astype(np.float32)
    return picture, mask, rng.standard_normal(picture.shape).astype(np.float32)
