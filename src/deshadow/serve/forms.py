"""The shapes of what goes in and out, which are also the API's description."""

from typing import Annotated, Literal

from fastapi import UploadFile
from pydantic import BaseModel, ConfigDict, Field

from deshadow.removal.options import Options
from deshadow.serve.queue import State

DEFAULTS = Options()
RANGES = {
    "dilate": (0, 64, 1),
    "feather": (0, 64, 0.5),
    "strength": (0, 1, 0.01),
    "steps": (1, 50, 1),
    "seed": (0, 2**32 - 1, 1),
}
"""Least, most and step of each number that a client can choose."""

Mode = Literal["quick", "removal"]
Sampler = Literal["ddim", "dpm"]


def _number(name: str, description: str) -> object:
    least, most, _ = RANGES[name]
    return Field(ge=least, le=most, description=description, allow_inf_nan=False)


class PhotoForm(BaseModel):
    """A photo to keep for a while."""

    model_config = ConfigDict(extra="forbid")

    file: Annotated[UploadFile, Field(description="The photo.")]


class JobForm(BaseModel):
    """Which shadows to remove, and how. Nothing said: all that are found, in the usual way."""

    model_config = ConfigDict(extra="forbid")

    mode: Mode = DEFAULTS.mode
    dilate: Annotated[int, _number("dilate", "Grow the mask, in pixels of what the network sees.")] = (
        DEFAULTS.dilate
    )
    feather: Annotated[float, _number("feather", "Soften the edge, in the same pixels.")] = DEFAULTS.feather
    strength: Annotated[float, _number("strength", "1 removes all of the shadow.")] = DEFAULTS.strength
    steps: Annotated[int, _number("steps", "Sampling steps of `removal`.")] = DEFAULTS.steps
    sampler: Sampler = DEFAULTS.sampler
    seed: Annotated[int, _number("seed", "Another seed, another variant.")] = DEFAULTS.seed
    instances: Annotated[
        list[Annotated[int, Field(ge=1, le=255)]],
        Field(max_length=255, description="Shadows by number, as `shadows` lists them; repeat the field."),
    ] = []
    points: Annotated[
        list[Annotated[str, Field(pattern=r"^[0-9]{1,6},[0-9]{1,6}$")]],
        Field(max_length=255, description="`X,Y`: the shadow under that point; repeat the field."),
    ] = []
    mask: Annotated[
        UploadFile | None, Field(description="A picture of the photo's size, white where the shadow is.")
    ] = None
    base: Annotated[
        str, Field(max_length=64, description="A finished job of this photo, to start from its result.")
    ] = ""

    def options(self) -> Options:
        """What the remover is told."""
        return Options(
            mode=self.mode,
            dilate=self.dilate,
            feather=self.feather,
            strength=self.strength,
            steps=self.steps,
            sampler=self.sampler,
            seed=self.seed,
        )


class RemoveForm(JobForm):
    """A photo, which shadows to remove, and how."""

    file: Annotated[UploadFile, Field(description="The photo.")]
    base: Literal[""] = ""


class ErrorDetail(BaseModel):
    """What went wrong."""

    code: str
    message: str


class Error(BaseModel):
    """The body of every answer of 400 or more."""

    error: ErrorDetail


class PhotoOut(BaseModel):
    """A photo that the server holds."""

    id: str
    name: str
    format: str
    width: int
    height: int
    scale: Annotated[float, Field(description="Photo pixels in a pixel of `dilate` and `feather`.")]
    bytes: int
    expires: Annotated[float, Field(description="Seconds from its last use on.")]
    picture: str
    shadows: str
    labels: str


class ShadowOut(BaseModel):
    """One shadow, numbered from the largest on."""

    number: int
    area: int
    box: Annotated[tuple[int, int, int, int], Field(description="Left, top, right, bottom (exclusive).")]
    centre: Annotated[tuple[int, int], Field(description="A point in the shadow.")]


class ShadowsOut(BaseModel):
    """The shadows that were found."""

    instances: list[ShadowOut]
    labels: str


class JobOut(BaseModel):
    """A removal: how far it is, and where its pictures are."""

    id: str
    photo: str
    base: str | None
    state: State
    position: Annotated[int, Field(description="Pictures ahead of it.")]
    share: Annotated[float, Field(description="How much is done, 0 to 1.")]
    stage: str
    done: int
    total: int
    found: Annotated[bool | None, Field(description="false: there was no shadow, and nothing was changed.")]
    seconds: float
    left: Annotated[float | None, Field(description="Seconds that it may still take.")]
    preview: str | None
    picture: str | None
    result: str | None
    mask: str | None
    error: ErrorDetail | None


class ChoiceOut(BaseModel):
    """An option with a few values."""

    default: str
    choices: list[str]


class RangeOut(BaseModel):
    """An option that is a number."""

    default: float
    minimum: float
    maximum: float
    step: float


class SettingsOut(BaseModel):
    """Limits of this server, and the options with their ranges."""

    version: str
    max_upload: int
    max_pixels: int
    expire: float
    queue: int
    accept: str
    options: dict[str, ChoiceOut | RangeOut]


class HealthOut(BaseModel):
    """Alive."""

    status: Literal["ok"]
