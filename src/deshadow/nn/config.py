"""Configurations: frozen dataclasses that a checkpoint carries as JSON, and the presets by name."""

import json
import math
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, NamedTuple, get_args

from deshadow.diffusion.prediction import PREDICTIONS, Kind, Prediction
from deshadow.diffusion.schedule import Schedule

Guidance = Literal["none", "colour", "coarse", "latent"]
Fusion = Literal["none", "vector", "map"]
LatentRange = Literal["free", "bounded", "standardised"]
Sees = Literal["picture+mask", "picture", "nothing"]

NOISE_PATCH = 8
"""Side of the squares of y_t that the noise encoder of the vector fusion looks at."""


@dataclass(frozen=True)
class UNetShape:
    """The shape of one U-Net; the model decides on its inputs and outputs."""

    base: int
    """Channels at the finest level."""
    multipliers: tuple[int, ...]
    """Channels of each level as a multiple of `base`; every level halves the picture."""
    blocks: int = 2
    """Residual blocks per level."""
    attention: tuple[int, ...] = ()
    """Levels with attention, 0 being the finest; the middle always has it."""
    head_channels: int = 64
    fold: int = 1
    """Side of the squares of pixels that are folded into channels at the input; 1 is the paper's."""
    dropout: float = 0.0
    bypass: bool = False
    """A linear path from the input to the output. Every other path passes a group norm, which removes the
    brightness and the contrast of the whole picture."""

    def __post_init__(self) -> None:
        if self.base < 1 or self.blocks < 1 or self.fold < 1 or not self.multipliers:
            raise ValueError(f"a U-Net needs positive base, blocks, fold and at least one level: {self}")
        if any(level not in range(len(self.multipliers)) for level in self.attention):
            raise ValueError(
                f"level {max(self.attention)} has attention, but there are {len(self.multipliers)} levels"
            )
        attended = [self.channels(level) for level in {*self.attention, len(self.multipliers) - 1}]
        if any(channels % self.head_channels for channels in attended):
            raise ValueError(f"{attended} channels do not divide into heads of {self.head_channels}")

    @property
    def stride(self) -> int:
        """Height and width must be multiples of this."""
        return self.fold << (len(self.multipliers) - 1)

    @property
    def embedding(self) -> int:
        """Length of the vector that carries the timestep (and the noise) to every block."""
        return 4 * self.base

    def channels(self, level: int) -> int:
        """Channels at a level."""
        return self.base * self.multipliers[level]


@dataclass(frozen=True)
class ModelConfig:
    """Everything that defines a model: its networks, how they are joined, and the diffusion around them."""

    denoiser: UNetShape
    encoder: UNetShape
    """The network that makes the guidance (the latent feature encoder, or an estimator in its place)."""
    guidance: Guidance = "latent"
    fusion: Fusion = "vector"
    predicts: Kind = "correction"
    sees: Sees = "picture+mask"
    """Inputs of the denoiser besides y_t and the guidance (Palette: the picture; RePaint: nothing)."""
    latent_range: LatentRange = "bounded"
    """bounded: tanh keeps the latent in [-1, 1]. standardised: mean 0 and deviation 1 in each picture."""
    schedule: Schedule = field(default_factory=Schedule)

    def __post_init__(self) -> None:
        for name, value, choices in (
            ("guidance", self.guidance, get_args(Guidance)),
            ("fusion", self.fusion, get_args(Fusion)),
            ("prediction", self.predicts, tuple(PREDICTIONS)),
            ("condition", self.sees, get_args(Sees)),
            ("latent range", self.latent_range, get_args(LatentRange)),
        ):
            if value not in choices:
                raise ValueError(f"unknown {name} {value!r}: choose from {', '.join(choices)}")
        if self.unconditional and self.prediction.needs_shadow:
            raise ValueError("a model that sees no picture cannot correct one: let it predict noise")

    @property
    def prediction(self) -> Prediction:
        """How the denoiser's output is read, learned and sampled."""
        return PREDICTIONS[self.predicts]

    @property
    def unconditional(self) -> bool:
        """Whether the model has no condition at all."""
        return self.sees == "nothing" and self.guidance == "none"

    @property
    def seen_channels(self) -> dict[str, int]:
        """The conditions of the denoiser, in order, with their channels."""
        channels = {"picture": 3, "mask": 1}
        return {name: channels[name] for name in self.sees.split("+") if name in channels}

    @property
    def output_channels(self) -> int:
        """Channels of the denoiser's output."""
        return self.prediction.channels

    @property
    def guidance_channels(self) -> int:
        """Channels of the encoder's output."""
        return {"none": 0, "colour": 3, "coarse": 3, "latent": 1}[self.guidance]

    @property
    def stride(self) -> int:
        """Height and width must be multiples of this; `condition` and the detectors pad to it."""
        encoder = 1 if self.guidance == "none" else self.encoder.stride
        return math.lcm(self.denoiser.stride, encoder, NOISE_PATCH if self.fusion == "vector" else 1)

    def to_json(self) -> str:
        """The text that a checkpoint carries."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "ModelConfig":
        """The inverse of `to_json`."""
        try:
            fields: dict[str, Any] = json.loads(text)
            for name in ("denoiser", "encoder"):
                fields[name] = _shape(fields[name])
            return cls(**(fields | {"schedule": Schedule(**fields["schedule"])}))
        except (TypeError, KeyError, AttributeError, json.JSONDecodeError) as error:
            raise ValueError(_foreign(error)) from error


class Stage(NamedTuple):
    """Blocks of one kind, the first of which may halve the picture."""

    outputs: int
    blocks: int
    kernel: int
    stride: int
    expansion: int
    """How many times more channels the depthwise convolution of a block has than the block's input."""


@dataclass(frozen=True)
class DetectorConfig:
    """A detector: from a picture to the probability that each pixel lies in a shadow."""

    stem: int
    """Channels of the first convolution, which halves the picture."""
    stages: tuple[Stage, ...]
    """The blocks of the backbone, as in EfficientNet-lite."""
    widths: tuple[int, ...]
    """Channels of the decoder, from the coarsest level to the finest, half as large as the picture."""
    head_channels: int = 32

    def __post_init__(self) -> None:
        if not self.halvings:
            raise ValueError(f"a detector needs a stage that halves the picture: {self}")
        if len(self.widths) != 1 + self.halvings:
            raise ValueError(f"a detector needs a width for each of its {1 + self.halvings} levels: {self}")
        if self.widths[0] % self.head_channels:
            raise ValueError(f"{self.widths[0]} channels do not divide into heads of {self.head_channels}")

    @property
    def halvings(self) -> int:
        """How often the stages halve the picture, which the stem has halved."""
        return sum(stage.stride == 2 for stage in self.stages)

    @property
    def stride(self) -> int:
        """Height and width must be multiples of this; `condition` and the detectors pad to it."""
        return 2 << self.halvings

    def to_json(self) -> str:
        """The text that a checkpoint carries; unlike a remover's it has the field `kind`."""
        return json.dumps({"kind": DETECTOR, **asdict(self)}, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "DetectorConfig":
        """The inverse of `to_json`."""
        try:
            fields: dict[str, Any] = json.loads(text)
            if fields.pop("kind") != DETECTOR:
                raise KeyError("kind")
            stages = tuple(Stage(*stage) for stage in fields["stages"])
            return cls(**(fields | {"stages": stages, "widths": tuple(fields["widths"])}))
        except (TypeError, KeyError, AttributeError, json.JSONDecodeError) as error:
            raise ValueError(_foreign(error)) from error


DETECTOR = "detector"
Config = ModelConfig | DetectorConfig


# The paper gives the sum of 82.6 M parameters and the kind of U-Net, not its shape: this one has 82.58 M.
PAPER_UNET = UNetShape(base=64, multipliers=(1, 2, 2, 4, 4), blocks=3, attention=(3, 4))
DISTILLED_UNET = UNetShape(
    base=48, multipliers=(1, 2, 2, 4, 4), blocks=1, attention=(3, 4), fold=2, bypass=True
)

PRESETS: dict[str, ModelConfig] = {
    "paper": ModelConfig(denoiser=PAPER_UNET, encoder=PAPER_UNET, predicts="noise", latent_range="free"),
    # For the student of a distillation: the paper gives 25.5 M parameters in all, this one has 25.38 M.
    "distilled": ModelConfig(denoiser=DISTILLED_UNET, encoder=DISTILLED_UNET, predicts="relighting"),
    "light": ModelConfig(
        denoiser=UNetShape(
            base=32, multipliers=(1, 2, 4, 8), attention=(2, 3), head_channels=32, fold=2, bypass=True
        ),
        encoder=UNetShape(
            base=32, multipliers=(1, 2, 4, 4), blocks=1, attention=(3,), head_channels=32, fold=2, bypass=True
        ),
        predicts="relighting",
    ),
    "tiny": ModelConfig(
        denoiser=UNetShape(
            base=16, multipliers=(1, 2, 4), blocks=1, attention=(2,), head_channels=16, fold=2, bypass=True
        ),
        encoder=UNetShape(
            base=8, multipliers=(1, 2, 4), blocks=1, attention=(2,), head_channels=8, fold=2, bypass=True
        ),
        predicts="relighting",
    ),
}

DETECTORS: dict[str, DetectorConfig] = {
    # The backbone is EfficientNet-lite0 (Tan and Le 2019; Liu 2020), so that it can start from weights that
    # were trained on ImageNet.
    "detector": DetectorConfig(
        stem=32,
        stages=(
            Stage(16, 1, 3, 1, 1),
            Stage(24, 2, 3, 2, 6),
            Stage(40, 2, 5, 2, 6),
            Stage(80, 3, 3, 2, 6),
            Stage(112, 3, 5, 1, 6),
            Stage(192, 4, 5, 2, 6),
            Stage(320, 1, 3, 1, 6),
        ),
        widths=(128, 96, 64, 48, 32),
    ),
    "detector-tiny": DetectorConfig(
        stem=16,
        stages=(Stage(16, 1, 3, 1, 1), Stage(32, 1, 3, 2, 4), Stage(48, 1, 3, 2, 4)),
        widths=(64, 48, 32),
        head_channels=16,
    ),
}


def config_from_json(text: str) -> Config:
    """The configuration that a checkpoint carries, of whichever kind it is."""
    try:
        detects = json.loads(text).get("kind") == DETECTOR
    except (AttributeError, json.JSONDecodeError):
        detects = False
    return DetectorConfig.from_json(text) if detects else ModelConfig.from_json(text)


def _shape(fields: dict[str, Any]) -> UNetShape:
    frozen: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()
    }
    return UNetShape(**frozen)


def _foreign(error: Exception) -> str:
    return f"not a model configuration of this version of deshadow ({error})"


def find_preset(name: str) -> ModelConfig:
    """The configuration of that name."""
    if name not in PRESETS:
        raise ValueError(f"unknown preset {name!r}: choose from {', '.join(PRESETS)}")
    return PRESETS[name]


def find_config(name: str) -> Config:
    """The configuration of that name, of a remover or of a detector."""
    known = PRESETS | DETECTORS
    if name not in known:
        raise ValueError(f"unknown preset {name!r}: choose from {', '.join(known)}")
    return known[name]


def make_palette(config: ModelConfig) -> ModelConfig:
    """Palette (Saharia et al. 2022) with the denoiser of this configuration: it sees the picture alone."""
    return replace(config, guidance="none", fusion="none", predicts="noise", sees="picture")


def make_unconditional(config: ModelConfig) -> ModelConfig:
    """The unconditional model of RePaint (Lugmayr et al. 2022) with the denoiser of this configuration."""
    return replace(config, guidance="none", fusion="none", predicts="noise", sees="nothing")


def describe_config(config: Config) -> str:
    """The name of the preset that this is or that it varies, or its size."""
    if isinstance(config, DetectorConfig):
        names = [f"preset {name!r}" for name, known in DETECTORS.items() if known == config]
        return next(iter(names), f"a detector of its own ({config.stem} channels)")
    for name, known in PRESETS.items():
        if config == known:
            return f"preset {name!r}"
        fields = ("guidance", "fusion", "predicts", "sees", "latent_range")
        parts = {name: getattr(config, name) for name in fields}
        if replace(known, **parts) == config:
            parts_text = ", ".join(f"{part.replace('_', ' ')} {value}" for part, value in parts.items())
            return f"preset {name!r} with {parts_text}"
    return f"a configuration of its own ({config.denoiser.base} channels, fold {config.denoiser.fold})"
