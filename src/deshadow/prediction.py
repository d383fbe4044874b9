"""What the network predicts, and the exact way from each prediction to the clean picture and back.

Throughout, `a` and `s` are √ᾱ_t and √(1 − ᾱ_t): numbers, or arrays that broadcast over the batch.
"""

from typing import Literal, get_args

from deshadow.arrays import Array

Prediction = Literal["noise", "v", "clean", "correction"]


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
    raise ValueError(unknown(kind))


def noise_from(clean: Array, noisy: Array, a: "float | Array", s: "float | Array") -> Array:
    """The ε for which `diffuse` leads from `clean` to `noisy`."""
    return (noisy - a * clean) / s


def unknown(kind: str) -> str:
    """Say which kinds there are."""
    return f"unknown prediction {kind!r}: choose from {', '.join(get_args(Prediction))}"
