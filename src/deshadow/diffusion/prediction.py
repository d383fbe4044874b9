"""What the network predicts, and the exact way from each prediction to the clean picture and back.

Throughout, `a` and `s` are √ᾱ_t and √(1 − ᾱ_t): numbers, or arrays that broadcast over the batch.
"""

from typing import Literal, get_args

from deshadow.diffusion.arrays import Array

Prediction = Literal["noise", "v", "clean", "correction", "relighting"]

CHANNELS: dict[Prediction, int] = {"noise": 3, "v": 3, "clean": 3, "correction": 3, "relighting": 6}
"""Channels of the network's output: relighting has a gain and an offset for each colour."""


def diffuse(clean: Array, noise: Array, a: "float | Array", s: "float | Array") -> Array:
    """y_t = √ᾱ_t y_0 + √(1 − ᾱ_t) ε (Eq. 2)."""
    return a * clean + s * noise


def target(
    kind: Prediction, clean: Array, noise: Array, shadow: Array, a: "float | Array", s: "float | Array"
) -> Array:
    """What a perfect network of this kind would put out."""
    if kind == "noise":
        return noise
    if kind == "v":
        return a * noise - s * clean
    if kind == "clean":
        return clean
    if kind == "correction":
        return clean - shadow
    if kind == "relighting":
        raise ValueError("many gains and offsets give one picture: compare pictures, not relightings")
    raise ValueError(unknown(kind))


def clean_from(
    kind: Prediction, output: Array, noisy: Array, shadow: Array, a: "float | Array", s: "float | Array"
) -> Array:
    """The clean picture that the network's output stands for: the inverse of `target`."""
    if kind == "noise":
        return (noisy - s * output) / a
    if kind == "v":
        return a * noisy - s * output
    if kind == "clean":
        return output
    if kind == "correction":
        return shadow + output
    if kind == "relighting":
        # As light falls: what the shadow hides is still there, only darker. Detail needs no drawing.
        gain, offset = output[:, :3], output[:, 3:]
        return shadow + gain * (shadow + 1) + offset
    raise ValueError(unknown(kind))


def picture_from(
    kind: Prediction, output: Array, noisy: Array, shadow: Array, a: "float | Array", s: "float | Array"
) -> Array:
    """What a sampler takes for the clean picture: from ε, divided by √ᾱ_t, no more than a picture can be."""
    clean = clean_from(kind, output, noisy, shadow, a, s)
    return clean.clip(-1, 1) if kind == "noise" else clean


def noise_from(clean: Array, noisy: Array, a: "float | Array", s: "float | Array") -> Array:
    """The ε for which `diffuse` leads from `clean` to `noisy`."""
    return (noisy - a * clean) / s


def unknown(kind: str) -> str:
    """Say which kinds there are."""
    return f"unknown prediction {kind!r}: choose from {', '.join(get_args(Prediction))}"
