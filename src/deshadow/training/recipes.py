"""Recipes: named settings of training, each by what differs from the defaults of `training/options.py`."""

from typing import Any

LITERAL: dict[str, Any] = {
    # Eq. 7 with the weights of appendix B, and Eq. 10 to 12 as they are written.
    "predicts": "noise",
    "latent_range": "free",
    "norm": "l2",
    "weighting": "p2",
    "invariant": 1.0,
    "invariant_target": "joint",
    "blind": False,
    "distinct": 0.0,
    "hide_picture": 0.0,
    # Nothing that the paper does not have.
    "lab": 0.0,
    "detail": 0.0,
    "emphasis": 0.0,
    "final": 0.0,
    "spikes": 0.0,
    "degraded_masks": 0.0,
    "squeeze": False,
    "exposure": 0.0,
    "balance": 0.0,
    "depth": 0.0,
    "tint": 0.0,
    "hue": 0.0,
    "saturation": 0.0,
    "mixup": 0.0,
    "coloured": 0.0,
    "responses": 0.0,
    "clip": 0.0,
    "ema": 0,
}
"""The paper to the letter, apart from networks, data, learning rate and length."""

RECIPES: dict[str, dict[str, Any]] = {
    # Appendix B; the paper names neither optimizer nor batch: AdamW without weight decay, and as many images
    # as fit on one large GPU, with both passes of the encoder in Eq. 10.
    "paper": {
        **LITERAL,
        "preset": "paper",
        "batch": 32,
        "pretrain": 0.5,
        "rate": 2.5e-5,
        "warmup": 0,
        "decay": "constant",
        "weight_decay": 0.0,
        "images": 200_000 * 32,
    },
    "light": {
        "preset": "light",
        "batch": 128,
        "optimizer": "muon",
        "rate": 1e-3,
        "lab": 2.0,
        "detail": 3.0,
        "emphasis": 1.0,
        "pretrain": 0.2,
        "final": 0.7,
        "synthetic": 0.5,
        "instances": 0.65,
    },
    "tiny": {
        "preset": "tiny",
        "size": 64,
        "batch": 16,
        "rate": 2e-3,
        "lab": 1.0,
        "emphasis": 1.0,
        "pretrain": 0.08,
        "final": 0.6,
        "ema": 4_000,
        "warmup": 500,
    },
    "detector": {"preset": "detector", "rate": 2e-3, "synthetic": 0.35, "ema": 50_000},
    "detector-tiny": {
        "preset": "detector-tiny",
        "size": 64,
        "batch": 16,
        "rate": 6e-3,
        "ema": 4_000,
        "warmup": 500,
    },
}
"""Training settings by the recipe's name: in what they differ from the defaults."""
