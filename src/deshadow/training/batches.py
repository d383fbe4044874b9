"""Batches: image number n of a run is the same whatever the batch, the machine and the number of GPUs."""

from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from deshadow.data.augment import Augmentation, Pairs, augment, vary
from deshadow.data.degraded_masks import degrade_masks
from deshadow.data.pairs.find import find, pick_evenly
from deshadow.data.pairs.sample import Sample, Triplet
from deshadow.data.responses import vary_responses
from deshadow.data.rng import Draws
from deshadow.data.synth.banks import open_banks
from deshadow.data.synth.occluders import Occluders
from deshadow.data.synth.recipe import SHADOW_RECIPES
from deshadow.data.synth.triplets import cast_shadows, choose_backgrounds
from deshadow.image.morphology import dilate, dilation_radius
from deshadow.training.objectives import Batch
from deshadow.training.options import AugmentationOptions, DataOptions, TrainingOptions

SampleKind = Literal["real", "extra", "sunlight", "instances"]

DRAWN = 48, 12
"""Number of backgrounds, and of occluders of each kind, that are drawn for a run without its own."""
HELD_OUT = 1 << 40
"""Images from this number on are for validation; no run is so long."""
GOLDEN, SILVER = (5**0.5 - 1) / 2, 2**0.5 - 1
"""Multiples of these, modulo 1, are spread evenly: every range of images holds all kinds in their shares."""
MARGIN = 1.5
"""Side of the backgrounds, as a multiple of the training crops that are cut from them."""


class Scenes(NamedTuple):
    """Pairs with `protected` (B, 1, H, W): where other shadows lie that must not be removed."""

    picture: Tensor
    mask: Tensor
    clean: Tensor
    protected: Tensor


@dataclass(frozen=True)
class Source:
    """Where the images of a run come from, all of it on one device."""

    options: TrainingOptions
    device: torch.device
    real: Pairs | None
    """(N, …) pairs of one size."""
    extra: Pairs | None
    """The same of another set."""
    backgrounds: Tensor | None
    occluders: Occluders | None

    def for_run(self, options: TrainingOptions) -> "Source":
        """The same data, for a run with other options."""
        return replace(self, options=options)

    @property
    def seed(self) -> int:
        """Seed of all random numbers."""
        return self.options.seed

    @property
    def size(self) -> int:
        """Side of the images in pixels."""
        return self.options.inputs.size

    @property
    def synthetic(self) -> float:
        """Share of synthetic images."""
        return self.options.inputs.synthetic if self.options.inputs.data is not None else 1.0

    def batch(self, first: int, count: int) -> Batch:
        """Images number first to first + count − 1, varied, with masks, noise and timesteps."""
        groups: dict[SampleKind, list[int]] = {}
        for number in range(first, first + count):
            groups.setdefault(self.kind(number), []).append(number)
        parts = [self.scenes(kind, numbers) for kind, numbers in groups.items()]
        draws = Draws(self.seed, self.index([n for numbers in groups.values() for n in numbers]))
        scenes = Scenes(*(torch.cat(tensors) for tensors in zip(*parts, strict=True)))
        views = scenes.picture.float() / 255, scenes.clean.float() / 255
        if self.options.augmentation.responses:
            views = vary_responses(views, draws, self.options.augmentation.responses)
        picture, clean = (view * 2 - 1 for view in views)
        return Batch(
            picture.contiguous(),
            draw_masks(scenes.mask, scenes.protected, draws, self.options.augmentation.degraded_masks),
            clean.contiguous(),
            draws.normal("diffusion/noise", *picture.shape[1:]),
            self.times(draws),
            draws.chance("picture/hidden", of=self.options.objective.hide_picture),
        )

    def times(self, draws: Draws) -> Tensor:
        """(B,) timesteps: the last one for a share of the images, any for the others."""
        last, length = (
            draws.chance("timestep/final", of=self.options.objective.final),
            self.options.network.timesteps,
        )
        return torch.where(last, length, 1 + draws.integers("timestep", high=length))

    def kind(self, number: int) -> SampleKind:
        """The kind of an image; every range of numbers holds the kinds in nearly the same shares."""
        if self.extra is not None and number * SILVER % 1 < self.options.inputs.extra_share:
            return "extra"
        place = number * GOLDEN % 1
        if place >= self.synthetic:
            return "real"
        return "instances" if place < self.synthetic * self.options.inputs.instances else "sunlight"

    def scenes(self, kind: SampleKind, numbers: Sequence[int]) -> Scenes:
        """Scenes of one kind, (B, …, size, size)."""
        draws, chosen = Draws(self.seed, self.index(numbers)), self.options.augmentation
        if kind in ("real", "extra"):
            found = self.choose_pairs(numbers, self.extra if kind == "extra" else self.real)
            if chosen.mixup and kind == "real":
                found = self.mix(found, draws)
            pairs = augment(found, draws, self.size, make_augmentation(chosen))
            return Scenes(*pairs, torch.zeros_like(pairs.mask))
        assert self.backgrounds is not None
        assert self.occluders is not None
        # A crop of a background is never enlarged.
        uncut = replace(make_augmentation(chosen), crop=(1 / MARGIN, 1.0))
        lit = vary(choose_backgrounds(draws, self.backgrounds), draws, self.size, uncut)
        recipe = SHADOW_RECIPES[kind]
        if chosen.coloured:
            recipe = replace(recipe, filter=(chosen.coloured, recipe.filter[1]))
        made = cast_shadows(lit, self.occluders, draws, recipe)
        others = (made.instances & ~made.targets[..., None, None]).any(1, keepdim=True)
        return Scenes(made.picture, made.mask, made.clean, others & ~made.mask)

    def choose_pairs(self, numbers: Sequence[int], pairs: Pairs | None) -> Pairs:
        """Of real pairs those of these numbers, not augmented."""
        assert pairs is not None
        count = len(pairs.picture)
        place = self.index([shuffle_epoch(count, self.seed, n // count)[n % count] for n in numbers])
        return Pairs(*(view[place] for view in pairs))

    def mix(self, pairs: Pairs, draws: Draws) -> Pairs:
        """Mix a share of the pairs with another real pair (MixUp, Zhang et al. 2018).

        Both pictures are weighted means; the mask is where either pair has a shadow.
        """
        assert self.real is not None
        other = draws.integers("mixup/pair", high=len(self.real.picture))
        mixed = draws.chance("mixup", 1, 1, 1, of=self.options.augmentation.mixup)
        weight = torch.where(mixed, draws.uniform("mixup/weight", 1, 1, 1), 0.0)
        picture, clean = (
            torch.lerp(view.float(), real[other].float(), weight).round().byte()
            for view, real in ((pairs.picture, self.real.picture), (pairs.clean, self.real.clean))
        )
        return Pairs(picture, pairs.mask | (mixed & self.real.mask[other]), clean)

    def index(self, numbers: Iterable[int]) -> Tensor:
        """Numbers as a tensor on the device."""
        # From pinned memory a GPU copies later, so that this process need not wait.
        pinned = self.device.type == "cuda"
        found = torch.tensor(list(numbers), dtype=torch.int64, pin_memory=pinned)
        return found.to(self.device, non_blocking=True)


def open_source(
    options: TrainingOptions, device: torch.device, *, with_banks: bool = False, margin: float = MARGIN
) -> Source:
    """Read everything that a run is trained on; backgrounds and occluders only if needed, or `with_banks`."""
    inputs, real = options.inputs, None
    if inputs.data is not None and inputs.synthetic < 1:
        real = Pairs(*(view.to(device) for view in stack_samples(find_split(inputs, inputs.split, "train"))))
    extra = None
    if inputs.extra is not None:
        found = find(inputs.extra, skip_problems=inputs.skip_problems).samples
        extra = Pairs(*(view.to(device) for view in stack_samples(found)))
    source = Source(options, device, real, extra, None, None)
    if not (source.synthetic or with_banks):
        return source
    size = round(margin * inputs.size)
    backgrounds, occluders = open_banks(
        inputs.backgrounds, inputs.occluders, size, options.seed, DRAWN, device
    )
    return replace(source, backgrounds=backgrounds, occluders=occluders)


def make_augmentation(options: AugmentationOptions) -> Augmentation:
    """How pairs are varied under these options."""
    return Augmentation(
        crop=(options.crop, 1.0),
        squeeze=options.squeeze,
        exposure=options.exposure,
        balance=options.balance,
        depth=options.depth,
        tint=options.tint,
        hue=options.hue,
        saturation=options.saturation,
    )


def find_split(inputs: DataOptions, split: str | None, *likely: str) -> tuple[Sample, ...]:
    """The samples of a split of the data: the one that is named, else the first likely one, else all."""
    assert inputs.data is not None
    if split is not None:
        return find(inputs.data, split, skip_problems=inputs.skip_problems).samples
    samples = find(inputs.data, skip_problems=inputs.skip_problems).samples
    for name in likely:
        if chosen := tuple(sample for sample in samples if sample.split == name):
            return chosen
    return samples


def load_held_out_pairs(inputs: DataOptions, count: int, device: torch.device) -> Pairs:
    """(N, …, size, size): at most `count` real pairs to validate on, the same ones at every validation."""
    samples = find_split(inputs, inputs.val_split, "val", "test")
    pairs = stack_samples(pick_evenly(samples, count), (inputs.size, inputs.size))
    return Pairs(*(view.to(device) for view in pairs))


def dilate_masks(mask: Tensor) -> Tensor:
    """(B, 1, H, W) bool → floats: the mask dilated as the paper does."""
    return dilate(mask, dilation_radius(*mask.shape[-2:])).float()


def draw_masks(mask: Tensor, protected: Tensor, draws: Draws, share: float) -> Tensor:
    """(B, 1, H, W) bool → [0, 1]: masks as the network sees them, a share degraded, the others dilated.

    A dilated mask does not cover what is protected.
    """
    dilated = dilate_masks(mask) * ~protected
    if not share:
        return dilated
    degraded = draws.chance("mask/degraded", 1, 1, 1, of=share)
    return torch.where(degraded, degrade_masks(mask, draws), dilated)


def stack_samples(samples: Sequence[Sample], size: tuple[int, int] | None = None) -> Pairs:
    """Decode samples into tensors of one size (height, width), by default the most common one.

    Portrait pictures are turned if the size is landscape, and the other way round; then all are resized.
    """
    with ThreadPoolExecutor() as pool:
        triplets = list(pool.map(lambda sample: sample.load(), samples))
    if size is None:
        size = Counter(triplet.mask.shape for triplet in triplets).most_common(1)[0][0]
    fitted = [fit_triplet(triplet, size) for triplet in triplets]
    picture, mask, clean = (torch.from_numpy(np.stack(views)) for views in zip(*fitted, strict=True))
    return Pairs(picture.permute(0, 3, 1, 2), mask[:, None] > 127, clean.permute(0, 3, 1, 2))


def fit_triplet(triplet: Triplet, size: tuple[int, int]) -> Triplet:
    """A triplet resized to (height, width), turned first where that fits better."""
    if triplet.mask.shape == size:
        return triplet
    height, width = triplet.mask.shape
    if size[0] != size[1] and (size[0] < size[1]) != (height < width):
        triplet = Triplet(*(np.rot90(view) for view in triplet))

    def resize(view: np.ndarray, how: Image.Resampling) -> np.ndarray:
        return np.asarray(Image.fromarray(np.ascontiguousarray(view)).resize((size[1], size[0]), how))

    bicubic, nearest = Image.Resampling.BICUBIC, Image.Resampling.NEAREST
    picture, mask, clean = triplet
    return Triplet(resize(picture, bicubic), resize(mask, nearest), resize(clean, bicubic))


@lru_cache(4)
def shuffle_epoch(count: int, seed: int, epoch: int) -> list[int]:
    """The order of the pairs in an epoch."""
    order: list[int] = np.random.default_rng((seed, epoch)).permutation(count).tolist()
    return order
