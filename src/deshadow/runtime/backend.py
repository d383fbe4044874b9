"""What a runtime offers: a backend runs the two networks of a remover, a detector finds shadows.

`condition` turns a backend into a denoiser of one picture: a callable (y_t, t) → clean picture, which is all
that a sampler needs to know.
"""

from collections.abc import Callable
from typing import Any, Protocol

from deshadow.diffusion.arrays import Array, check_pair, like, pad_to_multiple
from deshadow.diffusion.choices import Sampler
from deshadow.diffusion.prediction import picture_from
from deshadow.diffusion.sampling import sample
from deshadow.nn.config import DetectorConfig, ModelConfig


class Backend(Protocol):
    """Runs the networks of one model on pictures whose height and width are multiples of its stride.

    It takes numpy arrays and torch tensors, and returns the type that it was given.
    """

    config: ModelConfig
    device: str
    """As torch names it; onnxruntime and OpenVINO run on the cpu."""

    def to_device(self, array: Array) -> Any:
        """The array in the memory of the device that the networks run on, to be used in several calls."""
        ...

    def encode(self, picture: Array, mask: Array) -> Array | None:
        """The guidance (B, C, H, W), or None where the model has no encoder."""
        ...

    def predict(self, noisy: Array, t: int, picture: Array, mask: Array, guidance: Array | None) -> Array:
        """The denoiser's output: what `config.predicts` names."""
        ...


class Detector(Protocol):
    """(B, 3, H, W) in [-1, 1], any H and W → (B, 1, H, W): the probability that a pixel lies in a shadow.

    It takes numpy arrays and torch tensors, and returns the type that it was given.
    """

    config: DetectorConfig
    device: str

    def __call__(self, picture: Array) -> Array:
        """The probability, in [0, 1]."""
        ...


def encode_guidance(backend: Backend, picture: Array, mask: Array) -> Array | None:
    """The guidance (B, C, H, W) of pictures of any H and W, as `condition` computes it; None without one."""
    check_pair(picture, mask)
    padded = (backend.to_device(pad_to_multiple(each, backend.config.stride)) for each in (picture, mask))
    guidance = backend.encode(*padded)
    return None if guidance is None else guidance[:, :, : picture.shape[2], : picture.shape[3]]


def condition(
    backend: Backend, picture: Array, mask: Array, guidance: Array | None = None
) -> Callable[[Array, int], Array]:
    """The denoiser for a picture (B, 3, H, W) in [-1, 1] and a mask (B, 1, H, W) in [0, 1], any H and W.

    The encoder runs once, here, unless the guidance (B, C, H, W) is given. Sizes that the network cannot
    take are padded by repeating the edge.
    """
    check_pair(picture, mask)
    config, (height, width) = backend.config, picture.shape[2:]
    padded, padded_mask = (
        backend.to_device(pad_to_multiple(each, config.stride)) for each in (picture, mask)
    )
    if guidance is None:
        guidance = backend.encode(padded, padded_mask)
    else:
        guidance = pad_to_multiple(guidance, config.stride)

    def denoise(noisy: Array, t: int) -> Array:
        if noisy.shape != picture.shape:
            raise ValueError(f"y_t is {tuple(noisy.shape)}, but the picture is {tuple(picture.shape)}")
        output = backend.predict(pad_to_multiple(noisy, config.stride), t, padded, padded_mask, guidance)
        a, s = config.schedule.level(t)
        cut: Array = output[:, :, :height, :width]
        return picture_from(config.predicts, cut, noisy, picture, a, s)

    return denoise


def sample_picture(
    backend: Backend,
    picture: Array,
    mask: Array,
    noisy: Array,
    *,
    steps: int,
    sampler: Sampler = "ddim",
    start: int | None = None,
) -> Array:
    """The clean picture that `sample` ends with, from a picture, its mask and y_t as `condition` takes them.

    Everything is moved to the backend's device at the beginning and back at the end, so that no step waits
    for a copy.
    """
    given, hole, first = (backend.to_device(each) for each in (picture, mask, noisy))
    denoise, schedule = condition(backend, given, hole), backend.config.schedule
    return like(noisy, sample(denoise, first, schedule, steps=steps, sampler=sampler, start=start))
