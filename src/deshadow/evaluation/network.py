"""The network's own output at 256 × 256, as the published protocol has it."""

import hashlib
from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deshadow.diffusion.arrays import FloatArray
from deshadow.diffusion.sampling import repaint, sample
from deshadow.evaluation.methods import Remove, Stays
from deshadow.image.morphology import dilate, dilation_radius
from deshadow.image.resize import SIDE, bicubic, nearest
from deshadow.runtime.backends import Backend, condition

Pixels = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Sampling:
    """How pictures are drawn from a model."""

    steps: int
    seed: int = 0
    jump: int = 10
    """RePaint: steps between its returns."""
    resamplings: int = 10
    """RePaint: how often each stretch is gone."""


def network(backend: Backend, sampling: Sampling) -> Remove:
    """A method whose result is (256, 256, 3), 8 bits as a file would have it.

    Every picture goes through the network by itself, one at a time, with noise from the seed and its name:
    runtimes add up a larger batch in another order, which would tip single pixels over to the next level.
    """
    config = backend.config

    def remove(picture: Pixels, mask: Pixels, name: str, stays: Stays = None) -> Pixels:
        small = bicubic(picture, SIDE, SIDE).transpose(2, 0, 1)[None]
        own = nearest(mask, SIDE, SIDE)
        hole = dilate(own, dilation_radius(SIDE, SIDE))
        if stays is not None:  # as in the whole path, a mask does not grow into another shadow
            hole[(nearest(stays.astype(np.uint8), SIDE, SIDE) > 0) & (own == 0)] = 0
        shadow: FloatArray = small / np.float32(127.5) - 1
        masked: FloatArray = hole[None, None] / np.float32(255)
        rng = generator(sampling.seed, name)
        noisy: FloatArray = rng.standard_normal(shadow.shape).astype(np.float32)
        denoise = condition(backend, shadow, masked)
        if config.unconditional:
            times = config.schedule.times(sampling.steps)
            jumps = {"jump": sampling.jump, "resamplings": sampling.resamplings}
            walk = repaint(denoise, noisy, config.schedule, times, shadow, masked, rng=rng, **jumps)
            clean = deque(walk, maxlen=1).pop()
        else:
            clean = sample(denoise, noisy, config.schedule, steps=sampling.steps)
        levels = ((clean[0] + 1) * 127.5).round().clip(0, 255).astype(np.uint8)
        return np.ascontiguousarray(levels.transpose(1, 2, 0))

    return remove


def generator(seed: int, name: str) -> np.random.Generator:
    """Random numbers that belong to a picture, whichever pictures came before it."""
    digest = hashlib.sha256(name.encode()).digest()
    return np.random.default_rng([seed, int.from_bytes(digest[:8], "little")])
