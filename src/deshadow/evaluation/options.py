"""What `deshadow evaluate` can be asked for. It imports nothing heavy, for `--help` reads it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from deshadow.diffusion.choices import AnchorKind, Sampler
from deshadow.runtime.choice import Runtime

EvaluationMode = Literal["network", "quick", "removal"]
"""Which result is scored: the network's own output at 256 × 256, or a photo after one of the two modes."""
MaskKind = Literal["given", "detected", "dilated", "eroded", "boxed"]
"""The set's own masks, detected ones, or its own degraded: by 8 pixels at 256 × 256, or to their box."""
LatentKind = Literal["own", "other", "mean", "zero"]
"""The latent that guides the denoiser: the picture's own, that of another scene, the set's mean, or zero."""

DEFAULT_WEIGHTS = "light"
DEFAULT_DETECTOR = "detector"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Which methods are compared, and how the models among them are sampled."""

    compare: Sequence[str] = ()
    """Names of methods in the order of the table, one or several with commas in each; empty: all weights and
    results."""
    weights: Sequence[str] = ()
    """NAME=PATH, PATH, or the name of shipped weights."""
    results: Sequence[str] = ()
    """NAME=FOLDER, or FOLDER."""
    mode: EvaluationMode = "network"
    steps: Sequence[str] = ()
    """N for every model, or NAME=N for one."""
    sampler: Sampler = "ddim"
    latent: LatentKind = "own"
    """For models with a latent, in the mode network."""
    anchor: AnchorKind = "none"
    """In the mode network. RePaint keeps the lit pixels in any case."""
    start: int | None = None
    """Timestep at which sampling starts, from the photo diffused to it; by default from pure noise."""
    seed: int = 0
    jump: int = 10
    """RePaint: length of the jumps back, in steps."""
    resamplings: int = 10
    """RePaint: how many times each stretch of steps is sampled."""
    device: str = "auto"
    runtime: Runtime = "auto"


@dataclass(frozen=True, slots=True)
class Outputs:
    """Which files are written, if any."""

    json: Path | None = None
    report: Path | None = None
    """The folder of the report, which is one page."""
