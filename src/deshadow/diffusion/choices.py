"""What a user can choose about sampling, by name. It imports nothing heavy, for `--help` reads it."""

from typing import Literal

Sampler = Literal["ddim", "dpm"]
"""DDIM, or DPM-Solver++(2M)."""
AnchorKind = Literal["none", "lit", "mean"]
"""What sampling keeps of the lit part of the photo. none: the photo only conditions the denoiser, as in the
paper. lit: the lit pixels are kept. mean: only their mean colour is kept."""
