"""The options of a training run, in frozen dataclasses by what they are about; no torch is needed here.

`TrainingOptions` composes them. An ablation and a distillation compose those that they need in dataclasses of
their own.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from deshadow.diffusion.choices import AnchorKind
from deshadow.diffusion.prediction import PREDICTIONS, Kind
from deshadow.nn.config import (
    Config,
    DetectorConfig,
    Fusion,
    Guidance,
    LatentRange,
    ModelConfig,
    Sees,
    find_config,
)
from deshadow.training.arguments import (
    check_counts,
    check_numbers,
    check_shares,
    flag_of,
    flatten,
    list_defaults,
)
from deshadow.training.command import Command

LossNorm = Literal["l1", "l2"]
Weighting = Literal["uniform", "p2"]
InvariantTarget = Literal["frozen", "detached", "joint"]
Decay = Literal["constant", "cosine"]
Optimizer = Literal["adamw", "muon"]


@dataclass(frozen=True)
class DataOptions:
    """What a run is trained on."""

    data: Path | None = None
    """Folder of real pairs, in any layout that `deshadow data look` reads. Without it all images are
    synthetic."""
    split: str | None = None
    """The split to train on. By default train, or everything where no split is called so."""
    val_split: str | None = None
    """The split to validate on. By default val, else test, else the pairs that are trained on."""
    backgrounds: Path | None = None
    """Folder or tar of evenly lit pictures on which synthetic shadows are cast. By default drawn textures."""
    occluders: Path | None = None
    """Folder or tar of silhouettes that cast the synthetic shadows. By default drawn shapes."""
    synthetic: float = 0.0
    """Share of synthetic images, 0 to 1; always 1 without real pairs."""
    instances: float = 0.5
    """Share of the synthetic images that hold several shadows, of which one is to be removed."""
    extra: Path | None = None
    """Folder of further real pairs, such as documents; --extra-share of the images come from it."""
    extra_share: float = 0.05
    """Share of the images that come from --extra, where it is given."""
    skip_problems: bool = False
    """Leave out pairs that cannot be used, instead of stopping with a list of them."""
    size: int = 256
    """Side of the training crops in pixels."""

    def __post_init__(self) -> None:
        check_shares(self, "synthetic", "instances", "extra_share")
        check_counts(self, "size")


@dataclass(frozen=True)
class PhotoOptions:
    """Photos that a detector is trained on beside pairs and synthetic pictures."""

    masked: Path | None = None
    """Folder or tar of photos with masks of all their shadows, in folders shadow and mask. For a detector."""
    masked_share: float = 0.3
    """Share of the images that are such photos, where --masked is given."""
    held_out: int = 60
    """Number of --masked photos that are held out for validation, chosen by the hash of the name."""
    lit: Path | None = None
    """Folder or tar of photos without shadows. For a detector."""
    lit_share: float = 0.08
    """Share of the images that are such photos, where --lit is given."""
    lit_held_out: int = 16
    """Number of --lit photos that are held out for validation, chosen by the hash of the name."""

    def __post_init__(self) -> None:
        check_shares(self, "masked_share", "lit_share")
        check_counts(self, "held_out", "lit_held_out")


@dataclass(frozen=True)
class AugmentationOptions:
    """How images of a remover are varied, beside crops, flips and quarter turns."""

    degraded_masks: float = 0.5
    """Share of the masks that are degraded as people draw them; the others are dilated as in the paper."""
    crop: float = 0.5
    """Smallest share of a picture's shorter side that a crop spans; the largest is 1."""
    squeeze: bool = True
    """Squeeze some crops into the square, as whole pictures are."""
    exposure: float = 0.35
    """Standard deviation of the exposure in stops."""
    balance: float = 0.06
    """Standard deviation of the gain of red and of blue, as a natural logarithm."""
    depth: float = 0.12
    """Standard deviation of the power to which the darkness of a shadow is raised."""
    tint: float = 0.03
    """Standard deviation of the same power between the channels."""
    hue: float = 0.0
    """Standard deviation of the angle by which colours are turned around grey, in degrees."""
    saturation: float = 0.0
    """Standard deviation of the saturation, as a natural logarithm."""
    mixup: float = 0.0
    """Share of the images from --data that are mixed from two pairs."""
    coloured: float = 0.0
    """Share of the synthetic images whose shadows are coloured as behind glass."""
    responses: float = 0.0
    """Share of the images that are shown as another camera would give them: tone curve, lifted dark areas,
    sharpening."""

    def __post_init__(self) -> None:
        check_shares(self, "degraded_masks", "mixup", "coloured", "responses")
        if not 0 < self.crop <= 1:
            raise ValueError("--crop is a share of a picture's side: it must be above 0 and at most 1")
        check_numbers(self, "exposure", "balance", "depth", "tint", "hue", "saturation")


@dataclass(frozen=True)
class ModelOptions:
    """Which networks are trained, and from which weights."""

    preset: str = "light"
    """The networks: paper, distilled, light or tiny, or a detector: detector or detector-tiny."""
    guidance: Guidance | None = None
    """Guidance of the denoiser (Tab. 4), if not the preset's."""
    fusion: Fusion | None = None
    """How y_t is fused into the denoiser (Tab. 3), if not the preset's."""
    predicts: Kind | None = None
    """What the denoiser predicts, if not the preset's."""
    sees: Sees | None = None
    """What the denoiser sees beside y_t, if not the preset's. Palette sees the picture alone, RePaint
    nothing."""
    latent_range: LatentRange | None = None
    """Range of the latent, if not the preset's: bounded by tanh, standardised in each picture, or free."""
    init: str | None = None
    """Weights to start from, a path or a name. Images and time are counted from 0."""
    encoder: str | None = None
    """Weights whose encoder to start from, a path or a name, or `new`, instead of the encoder in --init. For
    a detector: weights of its backbone (`python -m deshadow.training.backbone`)."""
    freeze_encoder: bool = False
    """Train the denoiser alone; the encoder stays as it is in --init or --encoder. Needs --pretrain 0 and
    --invariant 0, which are for the encoder."""

    @property
    def config(self) -> Config:
        """The configuration of the networks, of a remover or of a detector."""
        names = ("guidance", "fusion", "predicts", "sees", "latent_range")
        changes = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        config = find_config(self.preset)
        if isinstance(config, ModelConfig):
            return replace(config, **changes)
        if self.freeze_encoder:
            changes["freeze_encoder"] = True
        if changes:
            first = flag_of(next(iter(changes)))
            raise ValueError(f"a detector has no {', '.join(changes)}: leave {first} out")
        return config

    @property
    def model(self) -> ModelConfig:
        """The configuration of a remover's networks."""
        config = self.config
        assert isinstance(config, ModelConfig)
        return config

    @property
    def timesteps(self) -> int:
        """Length of the model's diffusion; a detector has none."""
        return 1 if isinstance(self.config, DetectorConfig) else self.config.schedule.length


@dataclass(frozen=True)
class PictureLoss:
    """The loss of the denoiser (Eq. 7): how errors are measured, and at which timesteps."""

    norm: LossNorm = "l1"
    """Absolute (l1) or squared (l2) differences; the paper squares (Eq. 7)."""
    weighting: Weighting = "uniform"
    """Weights over timesteps: all alike, or P2 with γ = k = 1 as in the paper's appendix B."""
    lab: float = 0.0
    """Weight of the error in LAB beside that in RGB. It has no effect on predictions of noise and v."""
    detail: float = 0.0
    """Weight of the error in the local strength of gradients, which are too weak in a blurred picture. It has
    no effect on predictions of noise and v."""
    emphasis: float = 0.0
    """How much more an error under the mask weighs than one outside it."""
    final: float = 0.0
    """Share of the images at the last timestep, where sampling begins; the others have any timestep."""
    spikes: float = 0.0
    """Weight of a loss on single large features of the denoiser's finest blocks: the sum over a picture of
    log(feature / limit) where a feature exceeds the limit, 20 times the root mean square of its block."""

    def __post_init__(self) -> None:
        check_shares(self, "final")
        check_numbers(self, "lab", "detail", "emphasis", "spikes")


@dataclass(frozen=True)
class Objective(PictureLoss):
    """The losses of both stages (Eq. 10 to 12)."""

    pretrain: float = 0.15
    """Share of the run that is stage one, on shadow-free pictures alone (Eq. 12)."""
    blind: bool = True
    """In stage one the denoiser does not see the clean picture, so that it must use the latent."""
    distinct: float = 0.0
    """Weight, in stage one, of the share of the latent's variance that is common to all pictures of a batch.
    Such a pattern says nothing about a picture."""
    hide_picture: float = 0.0
    """Share of the images of stage two whose picture the denoiser does not see, so that it goes on using the
    latent."""
    invariant: float = 1.0
    """Weight of the invariant loss (Eq. 10); 0 leaves it out."""
    invariant_target: InvariantTarget = "frozen"
    """What the invariant loss pulls E(x, m) to. frozen: E*(y_0, 0) of the encoder as it was at the end of
    stage one, in units of its variance. detached: E(y_0, 0) without its gradient. joint: E(y_0, 0), as Eq. 10
    is written."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_shares(self, "pretrain", "hide_picture")
        check_numbers(self, "invariant", "distinct")


@dataclass(frozen=True)
class Length:
    """When a run ends."""

    images: int | None = None
    """Length of a run in images. With --minutes, whichever ends first."""
    minutes: float | None = None
    """Length of a run in minutes, over all its calls."""
    pause_after: float | None = None
    """Minutes after which this call ends, before the run is done. The run can be resumed."""

    def __post_init__(self) -> None:
        for name in ("images", "minutes", "pause_after"):
            if getattr(self, name) is not None and not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"{flag_of(name)} must be a number above 0")


@dataclass(frozen=True)
class Optimization:
    """How the weights are changed."""

    batch: int = 64
    """Images in a step, over all GPUs."""
    optimizer: Optimizer = "adamw"
    """adamw, or muon, which makes the steps of inner weights orthogonal."""
    rate: float = 3e-4
    """Learning rate after the warm-up."""
    warmup: int = 10_000
    """Images over which the learning rate rises."""
    decay: Decay = "cosine"
    """How the learning rate falls until the end."""
    weight_decay: float = 0.01
    """Decay of the weights towards 0, times the learning rate."""
    clip: float = 1.0
    """Largest norm of the gradient; a longer gradient is scaled down. 0 sets no limit."""
    ema: int = 100_000
    """Half-life of the averaged weights in images, shorter at the beginning of a run; 0 for no average."""

    def __post_init__(self) -> None:
        check_counts(self, "batch")
        check_numbers(self, "rate", "warmup", "weight_decay", "clip", "ema")


@dataclass(frozen=True)
class ValidationOptions:
    """How often a run is validated, and on what."""

    validate_every: int = 50_000
    """Images between two validations. The end of a run is always validated."""
    val_count: int = 64
    """Pictures in a validation."""
    val_steps: int | None = None
    """Sampling steps in a validation. By default 50 where the model predicts noise or v, else 1."""
    val_anchor: AnchorKind = "none"
    """What a validation keeps of the lit part of the photo while it samples: none, as in the paper; lit: the
    pixels outside the mask; mean: only their mean colour."""

    def __post_init__(self) -> None:
        check_counts(self, "validate_every", "val_count")


@dataclass(frozen=True)
class Machine:
    """How a run is computed, saved and logged; its weights depend on these options by rounding alone."""

    device: str = "auto"
    """auto, cpu, or a device of torch: cuda, mps."""
    compiled: bool | None = None
    """Compile the losses of pictures and of spikes (torch.compile). By default on a GPU with Triton."""
    bfloat16: bool | None = None
    """Compute in bfloat16 where that is safe. By default on a GPU."""
    save_every: float = 120.0
    """Seconds between two saved states."""
    log_every: int = 3_200
    """Images between two lines of the log."""

    def __post_init__(self) -> None:
        check_counts(self, "log_every")
        check_numbers(self, "save_every")


@dataclass(frozen=True)
class TrainingOptions:
    """One training run. With a length in images, the same options give the same weights."""

    out: Path = Path("runs/latest")
    """Folder of the run: state, weights, log, pictures."""
    resume: bool = False
    """Continue the run in --out."""
    inputs: DataOptions = field(default_factory=DataOptions)
    photos: PhotoOptions = field(default_factory=PhotoOptions)
    augmentation: AugmentationOptions = field(default_factory=AugmentationOptions)
    network: ModelOptions = field(default_factory=ModelOptions)
    objective: Objective = field(default_factory=Objective)
    lag: int = 0
    """Steps of the denoiser alone before each step of denoiser and encoder (Tab. 3, lagged posterior)."""
    length: Length = field(default_factory=Length)
    optimization: Optimization = field(default_factory=Optimization)
    validation: ValidationOptions = field(default_factory=ValidationOptions)
    machine: Machine = field(default_factory=Machine)
    seed: int = 0
    """Seed of all random numbers."""

    def __post_init__(self) -> None:
        check_numbers(self, "lag")
        if self.length.images is None and self.length.minutes is None:
            raise ValueError("say how long to train: --images or --minutes")
        data = self.inputs.data
        if data is not None and self.out.resolve().is_relative_to(data.resolve()):
            raise ValueError(f"--out {self.out} lies in the data: name another folder")
        config, size = self.network.config, self.inputs.size
        if size % config.stride:
            raise ValueError(f"--size must be a multiple of {config.stride} for this model, not {size}")
        if isinstance(config, ModelConfig):
            if self.photos.masked is not None or self.photos.lit is not None:
                raise ValueError("--masked and --lit are for a detector: choose one by --preset")
            config.schedule.times(self.val_steps)
            check_objective(self.objective, self.network, resume=self.resume)
        else:
            photos, pairs = self.photos, self.inputs
            given = (photos.masked, photos.masked_share), (photos.lit, photos.lit_share)
            if sum(share for path, share in (*given, (pairs.extra, pairs.extra_share)) if path) > 1:
                raise ValueError("--masked-share, --lit-share and --extra-share add up to more than 1")

    @property
    def val_steps(self) -> int:
        """Sampling steps in a validation of a remover."""
        chosen = self.validation.val_steps
        return self.network.model.prediction.steps if chosen is None else chosen

    def to_json(self) -> str:
        """All values, for the log and the saved state."""
        return json.dumps(flatten(self), default=str, sort_keys=True)

    def changes(self) -> dict[str, Any]:
        """What differs from the defaults, without the places of files: for released weights."""
        defaults = list_defaults(type(self))
        return {
            name: value
            for name, value in flatten(self).items()
            if value != defaults[name] and not isinstance(value, Path) and name not in ("init", "encoder")
        }


def check_objective(objective: Objective, network: ModelOptions, *, resume: bool) -> None:
    """Refuse losses that make no sense for these networks."""
    model = network.model
    if objective.weighting == "p2" and model.prediction.noise_error is None:
        raise ValueError("--weighting p2 weights the error of the noise: use it with --predicts noise or v")
    if objective.final and model.predicts == "noise":
        raise ValueError(
            "at the last timestep y_t is nothing but noise, and predicting it teaches nothing: "
            "use --final 0 with --predicts noise"
        )
    if not objective.blind and objective.pretrain and PREDICTIONS[model.predicts].needs_shadow:
        raise ValueError("--no-blind leaves nothing to correct in stage one: take --predicts noise")
    if network.freeze_encoder:
        check_frozen_encoder(objective, network, resume=resume)
    frozen = model.guidance == "latent" and objective.invariant and objective.invariant_target == "frozen"
    trained = resume or objective.pretrain or network.encoder not in (None, "new")
    if frozen and not trained and (network.init is None or network.encoder == "new"):
        raise ValueError(
            "without stage one there is no trained encoder to freeze: let --pretrain be above 0, give --init "
            "or --encoder, or take --invariant-target detached"
        )


def check_frozen_encoder(objective: Objective, network: ModelOptions, *, resume: bool) -> None:
    """Refuse --freeze-encoder where there is no trained encoder, or where one would have to learn."""
    if network.model.guidance == "none":
        raise ValueError("a model without guidance has no encoder: leave --freeze-encoder out")
    if objective.pretrain or objective.invariant:
        raise ValueError("with --freeze-encoder the encoder learns nothing: add --pretrain 0 --invariant 0")
    given = network.init if network.encoder is None else network.encoder
    if given in (None, "new") and not resume:
        raise ValueError("--freeze-encoder needs a trained encoder: give --init or --encoder")


TRAIN = Command("train", "Train a model that removes or detects shadows.", TrainingOptions)


def parse_training(tokens: Sequence[str]) -> TrainingOptions:
    """The options of a training run from a command line."""
    return TRAIN.parse(tokens)
