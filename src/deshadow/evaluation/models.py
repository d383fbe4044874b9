"""A model as a method: the network's own output at 256 × 256, or a photo after Quick or Removal."""

import hashlib
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from deshadow.data.pairs.sample import Sample
from deshadow.diffusion import sampling as samplers
from deshadow.diffusion.anchor import Anchor
from deshadow.diffusion.arrays import Array, FloatArray, generator_like, pad_to_multiple, to_numpy
from deshadow.diffusion.choices import AnchorKind, Sampler
from deshadow.diffusion.prediction import diffuse
from deshadow.evaluation.methods import BATCH, Input, Pixels, Remove, RemoveBatch, name_of
from deshadow.evaluation.options import LatentKind
from deshadow.image.colour import round_to_8_bits
from deshadow.image.morphology import dilate, dilation_radius
from deshadow.image.resize import PROTOCOL_SIDE, bicubic, nearest
from deshadow.removal.options import RemovalOptions
from deshadow.removal.remover import Remover
from deshadow.runtime.backend import Backend, condition
from deshadow.system.progress import track


@dataclass(frozen=True, slots=True)
class Sampling:
    """How results are sampled from a model."""

    steps: int
    sampler: Sampler = "ddim"
    seed: int = 0
    jump: int = 10
    """RePaint: length of the jumps back, in steps."""
    resamplings: int = 10
    """RePaint: how many times each stretch of steps is sampled."""
    anchor: AnchorKind = "none"
    """What is kept of the lit part of the photo while sampling."""
    start: int | None = None
    """Timestep at which sampling starts, from the photo diffused to it; by default from pure noise."""


class Latents:
    """The latents (1, C, 256, 256) that guide a model instead of each picture's own."""

    def __init__(self, backend: Backend, kind: LatentKind) -> None:
        self.backend, self.kind = backend, kind
        self.shared: FloatArray | None = None
        if kind == "zero":
            self.shared = np.zeros(
                (1, backend.config.guidance_channels, PROTOCOL_SIDE, PROTOCOL_SIDE), np.float32
            )
        self.others: dict[str, Callable[[], Input]] = {}

    def prepare(self, samples: Sequence[Sample], load: Callable[[Sample], Input]) -> None:
        """Average the latents of the set, or choose another scene for each of its pictures."""
        if self.kind == "mean":
            self.shared = self._average(samples, load)
        elif self.kind == "other":
            for sample, other in zip(samples, choose_other_scenes(samples), strict=True):
                self.others[name_of(sample)] = partial(load, other)

    def replace(self, name: str) -> FloatArray | None:
        """The latent for a picture of this name; None: its own."""
        return self._encode(self.others[name]()) if self.kind == "other" else self.shared

    def _encode(self, given: Input) -> FloatArray:
        latent = self.backend.encode(
            *(pad_to_multiple(each, self.backend.config.stride) for each in make_network_input(given))
        )
        assert isinstance(latent, np.ndarray)
        return latent[:, :, :PROTOCOL_SIDE, :PROTOCOL_SIDE]

    def _average(self, samples: Sequence[Sample], load: Callable[[Sample], Input]) -> FloatArray:
        total, count = np.zeros((1, self.backend.config.guidance_channels, PROTOCOL_SIDE, PROTOCOL_SIDE)), 0
        for sample in track(samples, "mean latent", len(samples)):
            try:
                total += self._encode(load(sample))
            except ValueError:  # a file that cannot be read; it is listed when its own turn comes
                continue
            count += 1
        return (total / max(count, 1)).astype(np.float32)


def choose_other_scenes(samples: Sequence[Sample]) -> list[Sample]:
    """For each sample the one half the set away, or the next after it that shows another scene."""
    count, others = len(samples), []
    for place, sample in enumerate(samples):
        further = (samples[(place + count // 2 + step) % count] for step in range(count))
        other = next((each for each in further if each.scene != sample.scene), None)
        if other is None:
            raise ValueError("--latent other needs pictures of at least two scenes")
        others.append(other)
    return others


def make_network_remover(backend: Backend, sampling: Sampling, latents: Latents | None = None) -> Remove:
    """The network's own output, (256, 256, 3) of 8 bits, as the published protocol scores it.

    Every picture goes through the network by itself, with noise from the seed and its name.
    """
    return lambda given: _remove_all(backend, sampling, latents, [given])[0]


def make_batch_remover(backend: Backend, sampling: Sampling, latents: Latents | None = None) -> RemoveBatch:
    """As `make_network_remover`, for up to `BATCH` pictures at once.

    The noise of each picture is the same as by itself. All batches are filled up to one size, since runtimes
    sum batches of other sizes in another order: a result does not depend on the pictures beside it.
    """

    def remove(inputs: Sequence[Input]) -> Sequence[Pixels]:
        filled = [*inputs, *[inputs[-1]] * (BATCH - len(inputs))]
        return _remove_all(backend, sampling, latents, filled)[: len(inputs)]

    return remove


def _remove_all(
    backend: Backend, sampling: Sampling, latents: Latents | None, inputs: Sequence[Input]
) -> list[Pixels]:
    """The results (256, 256, 3) of all inputs, from one batch through the network."""
    schedule, start = backend.config.schedule, sampling.start
    pairs = zip(*map(make_network_input, inputs), strict=True)
    generators = [make_generator(sampling.seed, each.name) for each in inputs]
    noise = np.stack([rng.standard_normal((3, PROTOCOL_SIDE, PROTOCOL_SIDE)) for rng in generators])
    # Where the networks run on a GPU, the states of the sampler stay in its memory.
    picture, mask, noisy = (backend.to_device(each) for each in (*map(np.concatenate, pairs), noise))
    latent = None
    if latents is not None:
        replaced = [latents.replace(each.name) for each in inputs]
        latent = backend.to_device(np.concatenate([each for each in replaced if each is not None]))
    denoise = condition(backend, picture, mask, latent)
    if backend.config.unconditional:
        walk = samplers.repaint(
            denoise,
            noisy,
            schedule,
            schedule.times(sampling.steps),
            picture,
            mask,
            rng=[generator_like(noisy, rng) for rng in generators],
            jump=sampling.jump,
            resamplings=sampling.resamplings,
        )
        return _to_levels(deque(walk, maxlen=1).pop())
    return _to_levels(
        samplers.sample(
            denoise,
            noisy if start is None else diffuse(picture, noisy, *schedule.level(start)),
            schedule,
            steps=sampling.steps,
            sampler=sampling.sampler,
            start=start,
            anchor=Anchor(sampling.anchor, picture, mask),
        )
    )


def _to_levels(clean: Array) -> list[Pixels]:
    """(B, 3, H, W) in [-1, 1] → (H, W, 3) of 8 bits each, as a file would hold them."""
    levels = ((to_numpy(clean) + 1) * 127.5).round().clip(0, 255).astype(np.uint8)
    return [np.ascontiguousarray(each.transpose(1, 2, 0)) for each in levels]


def make_network_input(given: Input) -> tuple[FloatArray, FloatArray]:
    """Picture (1, 3, 256, 256) in [-1, 1] and mask (1, 1, 256, 256), dilated but for what is protected."""
    picture: FloatArray = (
        bicubic(given.picture, PROTOCOL_SIDE, PROTOCOL_SIDE).transpose(2, 0, 1)[None] / np.float32(127.5) - 1
    )
    own = nearest(given.mask, PROTOCOL_SIDE, PROTOCOL_SIDE)
    dilated = dilate(own, dilation_radius(PROTOCOL_SIDE, PROTOCOL_SIDE))
    if given.selection.protected is not None:
        protected = nearest(given.selection.protected.astype(np.uint8), PROTOCOL_SIDE, PROTOCOL_SIDE) > 0
        dilated[protected & (own == 0)] = 0
    mask: FloatArray = dilated[None, None] / np.float32(255)
    return picture, mask


def make_photo_remover(backend: Backend, mode: Literal["quick", "removal"], sampling: Sampling) -> Remove:
    """Removes shadows as `deshadow photo.jpg` does, at the photo's size; the rest is unchanged."""
    remover = Remover(backend)
    options = RemovalOptions(mode=mode, steps=sampling.steps, sampler=sampling.sampler, seed=sampling.seed)

    def remove(given: Input) -> Pixels:
        pixels = given.picture.astype(np.float32) / np.float32(255)
        result = remover.relight(pixels, given.selection, options)
        if result is None:
            return given.picture
        levels = round_to_8_bits(result.composite(pixels))
        return np.where(result.weight[..., None] > 0, levels, given.picture)

    return remove


def make_generator(seed: int, name: str) -> np.random.Generator:
    """Random numbers that belong to a picture, whichever pictures came before it."""
    digest = hashlib.sha256(name.encode()).digest()
    return np.random.default_rng([seed, int.from_bytes(digest[:8], "little")])
