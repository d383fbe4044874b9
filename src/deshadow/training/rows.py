"""The rows of the ablation: what each changes in the options of the whole method, and their tables."""

from typing import Any

from deshadow.training.recipes import LITERAL

INPUT = "input"
"""The row that scores the shadow pictures themselves."""
SECOND = "-seed2"
"""Ending of the rows that repeat another one with the next seed."""

NOISE = {"predicts": "noise", "norm": "l2", "final": 0.0, "spikes": 0.0, "val_anchor": "lit"}
"""At the last timestep y_t is nothing but noise, and predicting it teaches nothing: all timesteps alike.
ε hardly learns the colour of a picture, so the lit pixels are kept where these rows are scored."""
P2 = {**NOISE, "weighting": "p2"}
UNGUIDED = {"guidance": "none", "hide_picture": 0.0}
"""A picture is hidden so that the denoiser uses its guidance; without one there is nothing else to use."""
BASELINE = {**UNGUIDED, "fusion": "none", **NOISE, "weighting": "uniform", "emphasis": 0.0}
"""The simple loss on ε as the authors of Palette and of RePaint's model use it."""

ROWS: dict[str, dict[str, Any]] = {
    "latent": {},
    "none": UNGUIDED,
    f"latent{SECOND}": {},
    f"none{SECOND}": UNGUIDED,
    "colour": {"guidance": "colour"},
    "coarse": {"guidance": "coarse"},
    "no-invariant": {"invariant": 0.0},
    # Without stage one there is no trained encoder that could be frozen.
    "no-stage-one": {"pretrain": 0.0, "invariant_target": "detached"},
    "no-fusion": {"fusion": "none"},
    "lagged": {"fusion": "none"},
    "map": {"fusion": "map"},
    "noise-frozen": P2,
    "noise-v": {**P2, "predicts": "v"},
    "noise-none": {**P2, **UNGUIDED},
    "palette": {**BASELINE, "sees": "picture"},
    "repaint": {**BASELINE, "sees": "nothing"},
    "noise-literal": {**LITERAL, "val_anchor": "lit"},
}
"""What each row changes in the options of the whole method. A new row is one entry here and in TABLES."""

TABLES: dict[str, dict[str, str]] = {
    "Fusion of y_t (Tab. 3)": {
        "no-fusion": "without fusion",
        "lagged": "lagged posterior",
        "map": "fusion by maps",
        "latent": "fusion by a vector (ours)",
    },
    "Guidance (Tab. 4)": {
        "none": "none",
        f"none{SECOND}": "none, second seed",
        "colour": "invariant colour map",
        "coarse": "coarse deshadowed picture",
        "no-invariant": "latent, without invariant loss",
        "no-stage-one": "latent, without stage one",
        "latent": "latent (ours)",
        f"latent{SECOND}": "latent (ours), second seed",
    },
    "The objective ε, lit pixels kept": {
        INPUT: "the shadow picture itself",
        "palette": "Palette",
        "repaint": "RePaint",
        "noise-none": "ε and P2, no guidance",
        "noise-frozen": "ε and P2, latent with the frozen target",
        "noise-v": "the same, ε computed from an output of v",
        "noise-literal": "the paper to the letter (ε, P2, Eq. 10 to 12 as written)",
    },
}
"""The rows of each table, by name, with their titles."""
