"""A model as a method: the network's own output at 256 × 256, or a photo after Quick or Removal."""

import hashlib
from collections import deque
from dataclasses import dataclass
from typing import Literal

import numpy as np

from deshadow.diffusion.arrays import FloatArray
from deshadow.diffusion.sampling import repaint, sample
from deshadow.evaluation.methods import Input, Pixels, Remove
from deshadow.image.morphology import dilate, dilation_radius
from deshadow.image.resize import SIDE, bicubic, nearest
from deshadow.removal.options import RemovalOptions
from deshadow.removal.remover import Remover
from deshadow.runtime.backends import Backend, condition


@dataclass(frozen=True, slots=True)
class Sampling:
    """How results are sampled from a model."""

    steps: int
    seed: int = 0
    jump: int = 10
    """RePaint: length of the jumps back, in steps."""
    resamplings: int = 10
    """RePaint: how many times each stretch of steps is sampled."""


def network_output(backend: Backend, sampling: Sampling) -> Remove:
    """The network's own output, (256, 256, 3) of 8 bits, as the published protocol scores it.

    Every picture goes through the network by itself, with noise from the seed and its name: runtimes sum
    larger batches in another order, which would tip single pixels over to the next level.
    """
    config = backend.config

    def remove(given: Input) -> Pixels:
        picture, mask = network_input(given)
        rng = generator(sampling.seed, given.name)
        noisy: FloatArray = rng.standard_normal(picture.shape).astype(np.float32)
        denoise = condition(backend, picture, mask)
        if config.unconditional:
            times = config.schedule.times(sampling.steps)
            jumps = {"jump": sampling.jump, "resamplings": sampling.resamplings}
            walk = repaint(denoise, noisy, config.schedule, times, picture, mask, rng=rng, **jumps)
            clean = deque(walk, maxlen=1).pop()
        else:
            clean = sample(denoise, noisy, config.schedule, steps=sampling.steps)
        levels = ((clean[0] + 1) * 127.5).round().clip(0, 255).astype(np.uint8)
        return np.ascontiguousarray(levels.transpose(1, 2, 0))

    return remove


def network_input(given: Input) -> tuple[FloatArray, FloatArray]:
    """Picture (1, 3, 256, 256) in [-1, 1] and mask (1, 1, 256, 256), dilated but for what is protected."""
    picture: FloatArray = bicubic(given.picture, SIDE, SIDE).transpose(2, 0, 1)[None] / np.float32(127.5) - 1
    own = nearest(given.mask, SIDE, SIDE)
    dilated = dilate(own, dilation_radius(SIDE, SIDE))
    if given.selection.protected is not None:
        protected = nearest(given.selection.protected.astype(np.uint8), SIDE, SIDE) > 0
        dilated[protected & (own == 0)] = 0
    mask: FloatArray = dilated[None, None] / np.float32(255)
    return picture, mask


def photo_result(backend: Backend, mode: Literal["quick", "removal"], sampling: Sampling) -> Remove:
    """The photo as `deshadow remove` writes it, at its own size; unchanged outside the reach of the mask."""
    remover = Remover(backend)
    options = RemovalOptions(mode=mode, steps=sampling.steps, seed=sampling.seed)

    def remove(given: Input) -> Pixels:
        pixels = given.picture.astype(np.float32) / np.float32(255)
        result = remover.relight(pixels, given.selection, options)
        if result is None:
            return given.picture
        levels = (result.composite(pixels) * 255).round().clip(0, 255).astype(np.uint8)
        return np.where(result.weight[..., None] > 0, levels, given.picture)

    return remove


def generator(seed: int, name: str) -> np.random.Generator:
    """Random numbers that belong to a picture, whichever pictures came before it."""
    digest = hashlib.sha256(name.encode()).digest()
    return np.random.default_rng([seed, int.from_bytes(digest[:8], "little")])
