"""What the network predicts: one record for each kind, with the way to the clean picture and back.

Throughout, `a` and `s` are √ᾱ_t and √(1 − ᾱ_t): numbers, or arrays that broadcast over the batch.
A new kind is one entry of `PREDICTIONS`, and its name in `Kind`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from deshadow.diffusion.arrays import Array

Kind = Literal["noise", "v", "clean", "correction", "relighting"]


@dataclass(frozen=True, slots=True)
class Prediction:
    """How the output of a network that predicts this is read, learned and sampled."""

    to_clean: Callable[..., Any]
    """(output, noisy, shadow, a, s) → the clean picture that the output stands for."""
    target: Callable[..., Any] | None
    """(clean, noise, shadow, a, s) → a perfect network's output; None where several outputs are perfect."""
    channels: int = 3
    """Channels of the network's output."""
    steps: int = 1
    """Sampling steps by default: a prediction of the picture itself is best in one step."""
    needs_shadow: bool = False
    """Whether the output changes the shadow picture, so that the network must see one."""
    noise_error: Callable[..., Any] | None = None
    """(a, s) → what turns an error of the output into one of ε, for which the P2 weights are made. Training
    then compares outputs with targets; where it is None, it compares clean pictures."""
    clips: bool = False
    """Whether sampling clips the clean picture: a division by √ᾱ_t carries it far out of range."""


def _relight(output: Any, noisy: Any, shadow: Any, a: Any, s: Any) -> Any:
    """A gain and an offset for each colour: the detail under a shadow is only darker, so none is drawn."""
    gain, offset = output[:, :3], output[:, 3:]
    return shadow + gain * (shadow + 1) + offset


PREDICTIONS: Mapping[Kind, Prediction] = {
    "noise": Prediction(
        to_clean=lambda output, noisy, shadow, a, s: (noisy - s * output) / a,
        target=lambda clean, noise, shadow, a, s: noise,
        steps=50,
        noise_error=lambda a, s: a**0,
        clips=True,
    ),
    "v": Prediction(
        to_clean=lambda output, noisy, shadow, a, s: a * noisy - s * output,
        target=lambda clean, noise, shadow, a, s: a * noise - s * clean,
        steps=50,
        noise_error=lambda a, s: a,  # ε = √(1 − ᾱ_t) y_t + √ᾱ_t v
    ),
    "clean": Prediction(
        to_clean=lambda output, noisy, shadow, a, s: output,
        target=lambda clean, noise, shadow, a, s: clean,
    ),
    "correction": Prediction(
        to_clean=lambda output, noisy, shadow, a, s: shadow + output,
        target=lambda clean, noise, shadow, a, s: clean - shadow,
        needs_shadow=True,
    ),
    "relighting": Prediction(to_clean=_relight, target=None, channels=6, needs_shadow=True),
}


def diffuse(clean: Array, noise: Array, a: "float | Array", s: "float | Array") -> Array:
    """y_t = √ᾱ_t y_0 + √(1 − ᾱ_t) ε (Eq. 2)."""
    return a * clean + s * noise


def target(
    kind: Kind, clean: Array, noise: Array, shadow: Array, a: "float | Array", s: "float | Array"
) -> Array:
    """The output of a perfect network of this kind."""
    find = find_prediction(kind).target
    if find is None:
        raise ValueError(f"several outputs of {kind} give the same picture: compare pictures, not outputs")
    output: Array = find(clean, noise, shadow, a, s)
    return output


def clean_from(
    kind: Kind, output: Array, noisy: Array, shadow: Array, a: "float | Array", s: "float | Array"
) -> Array:
    """The clean picture that the network's output stands for: the inverse of `target`."""
    clean: Array = find_prediction(kind).to_clean(output, noisy, shadow, a, s)
    return clean


def picture_from(
    kind: Kind, output: Array, noisy: Array, shadow: Array, a: "float | Array", s: "float | Array"
) -> Array:
    """The clean picture as a sampler takes it: in [-1, 1] where the record says so."""
    clean = clean_from(kind, output, noisy, shadow, a, s)
    return clean.clip(-1, 1) if PREDICTIONS[kind].clips else clean


def noise_from(clean: Array, noisy: Array, a: "float | Array", s: "float | Array") -> Array:
    """The ε for which `diffuse` leads from `clean` to `noisy`."""
    return (noisy - a * clean) / s


def find_prediction(kind: str) -> Prediction:
    """The record of that name; ValueError lists the names."""
    for name, prediction in PREDICTIONS.items():
        if name == kind:
            return prediction
    raise ValueError(f"unknown prediction {kind!r}: choose from {', '.join(PREDICTIONS)}")
