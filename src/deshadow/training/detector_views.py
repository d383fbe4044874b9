"""The images of a detector: real and synthetic pictures at any zoom, in any light, with dark things."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from deshadow.data.grids import sample_grid
from deshadow.data.photos import SplitPhotos, load_lit_photos, load_masked_photos
from deshadow.data.rng import Draws
from deshadow.data.synth.dark_surfaces import add_dark_surface
from deshadow.data.synth.distractors import distract
from deshadow.data.synth.grounds import lay_grounds
from deshadow.data.synth.recipe import SHADOW_RECIPES
from deshadow.data.synth.triplets import cast_shadows
from deshadow.data.views import vary_light, view_grid
from deshadow.image.colour import linear_to_srgb, srgb_to_linear
from deshadow.training.batches import GOLDEN, SILVER, Source, open_source
from deshadow.training.options import TrainingOptions

LIT = 0.3
"""Share of the pictures with a known clean side that are shown without their shadow, with an empty mask."""
NIGHT = 0.12
"""Share of these that are shown as if taken at night."""
RECIPE_ORDER = ("sunlight", "standing", "instances", "coloured", "dappled", "hard")
"""Of the synthetic pictures, each for STRETCH images in turn, so that a batch seldom mixes them."""
STANDING = 0.5
"""Probability in all of them that an object in the frame is seen itself, at the foot of its shadow."""
STRETCH = 512


class DetectorBatch(NamedTuple):
    """Pictures (B, 3, H, W) in [-1, 1], and for each pixel (B, 1, H, W) what a detector should know."""

    picture: Tensor
    mask: Tensor
    """The share of the sunlight that is blocked."""
    dark: Tensor
    """1 where a thing is drawn that is no shadow, most of them dark, else 0."""


class Labelled(NamedTuple):
    """Pictures and what is known of each pixel: of 8 bits, or in [0, 1] where they are views."""

    picture: Tensor  # (B, 3, H, W)
    shadow: Tensor  # (B, 1, H, W) the share of the sunlight that is blocked
    clean: Tensor  # (B, 3, H, W)
    things: Tensor  # (B, 1, H, W) where things stand at the foot of their shadow


@dataclass(frozen=True)
class Views:
    """The images of a detector, by number."""

    source: Source
    masked: SplitPhotos | None = None
    """Photos with masks, whose clean side is not known."""
    lit: SplitPhotos | None = None
    """Photos without shadows."""
    masked_share: float = 0.0
    lit_share: float = 0.0

    def batch(self, first: int, count: int) -> DetectorBatch:
        """Views number first to first + count − 1."""
        groups: dict[str, list[int]] = {}
        for number in sorted(range(first, first + count), key=self.is_masked):
            groups.setdefault(self.kind(number), []).append(number)
        # What follows is done for all kinds at once: on a GPU the number of operations decides.
        views = [self.views(kind, numbers) for kind, numbers in groups.items()]
        picture, shadow, clean, standing = (torch.cat(parts) for parts in zip(*views, strict=True))
        numbers = [number for group in groups.values() for number in group]
        # Photos with masks show dark things of their own, and not what lies under their shadows.
        known = len(numbers) - len(groups.get("masked", []))
        dark = torch.zeros_like(shadow)
        if known:
            made = self.add_dark_things(
                picture[:known], shadow[:known], clean[:known], self.draws(numbers[:known])
            )
            picture, shadow, dark = (
                torch.cat([new, old[known:]]) for new, old in zip(made, (picture, shadow, dark), strict=True)
            )
        dark = torch.maximum(dark, standing.round())
        picture = (vary_light(picture, self.draws(numbers)) * 255).round() * (1 / 127.5) - 1
        return DetectorBatch(picture.contiguous(memory_format=torch.channels_last), shadow, dark)

    def draws(self, numbers: Sequence[int]) -> Draws:
        """The random numbers of these views."""
        return Draws(self.source.seed, self.source.index(numbers))

    def is_masked(self, number: int) -> bool:
        """Whether a view is one of a photo with a mask."""
        return self.masked is not None and number * SILVER % 1 < self.masked_share

    def kind(self, number: int) -> str:
        """masked, extra, lit, real, or the name of a recipe for synthetic shadows.

        The shares of the first three follow one another, so that none takes the place of another.
        """
        if self.is_masked(number):
            return "masked"
        place = number * SILVER % 1 - (self.masked_share if self.masked is not None else 0)
        if self.source.extra is not None and place < self.source.options.inputs.extra_share:
            return "extra"
        if self.lit is not None and number * SILVER % 1 >= 1 - self.lit_share:
            return "lit"
        if number * GOLDEN % 1 >= self.source.synthetic:
            return "real"
        return RECIPE_ORDER[number // STRETCH % len(RECIPE_ORDER)]

    def pictures(self, kind: str, numbers: Sequence[int], standing: float | None = None) -> Labelled:
        """Pictures of one kind, not varied; `standing` is that of the recipe of synthetic ones, at least."""
        source = self.source
        if kind in ("masked", "lit"):
            split = self.masked if kind == "masked" else self.lit
            assert split is not None
            photos = split.train
            place = self.draws(numbers).integers("photo", high=len(photos.picture))
            picture = photos.picture[place]
            return without_things(picture, photos.mask[place], picture)
        if kind in ("real", "extra"):
            pairs = source.choose_pairs(numbers, source.extra if kind == "extra" else source.real)
            return without_things(pairs.picture, pairs.mask, pairs.clean)
        assert source.backgrounds is not None
        assert source.occluders is not None
        recipe = SHADOW_RECIPES[kind]
        standing = max(recipe.standing, STANDING if standing is None else standing)
        recipe = replace(recipe, targets="all", standing=standing)
        draws = self.draws(numbers)
        made = cast_shadows(lay_grounds(draws, source.backgrounds), source.occluders, draws, recipe)
        shadow = ((1 - made.sun) * 255).round().to(torch.uint8)
        return Labelled(made.picture, shadow, made.clean, made.things.to(torch.uint8) * 255)

    def views(self, kind: str, numbers: Sequence[int]) -> Labelled:
        """Views of the pictures of one kind, in [0, 1], as large as the detector sees them."""
        size, labelled = self.source.size, self.pictures(kind, numbers)
        height, width = labelled.picture.shape[-2:]
        samples = -(-max(height, width) // size)  # enough samples in a pixel to avoid aliasing
        grid = view_grid(self.draws(numbers), height, width, size * samples)
        seen = sample_grid(torch.cat(labelled, 1).float(), grid, samples, beyond="reflection")
        views = (seen * (1 / 255)).clamp(0, 1)
        return Labelled(*torch.split(views, [part.shape[1] for part in labelled], 1))

    def add_dark_things(
        self, picture: Tensor, shadow: Tensor, clean: Tensor, draws: Draws
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Pictures and shadows of which some lost their shadow, some are dark, and some show dark things.

        The third tensor is 1 where the dark things lie.
        """
        textures, occluders = self.source.backgrounds, self.source.occluders
        assert textures is not None
        assert occluders is not None
        lit = draws.chance("lit", 1, 1, 1, of=LIT)
        picture, shadow = torch.where(lit, clean, picture), torch.where(lit, 0.0, shadow)
        (picture, surface), (clean, _) = (
            add_dark_surface(view, clean, textures, occluders, draws) for view in (picture, clean)
        )
        picture, things = distract(picture, clean, textures, occluders, draws)
        stops = draws.uniform("night/stops", 1, 1, 1, low=1.5, high=4.0)
        night = linear_to_srgb(srgb_to_linear(picture) * torch.exp2(-stops))
        picture = torch.where(lit & draws.chance("night", 1, 1, 1, of=NIGHT), night, picture)
        return picture, shadow, (surface | things).to(picture.dtype)


def without_things(picture: Tensor, mask: Tensor, clean: Tensor) -> Labelled:
    """Photos with their masks (B, 1, H, W) bool, in which no standing things are known."""
    return Labelled(picture, mask.to(torch.uint8) * 255, clean, torch.zeros_like(mask, dtype=torch.uint8))


def open_views(options: TrainingOptions, device: torch.device) -> Views:
    """Read everything that a detector is trained on; backgrounds and occluders always, for dark things."""
    source = open_source(options, device, with_banks=True, margin=1.0)
    chosen = options.photos
    masked = None if chosen.masked is None else load_masked_photos(chosen.masked, chosen.held_out)
    lit = None if chosen.lit is None else load_lit_photos(chosen.lit, chosen.lit_held_out)
    masked, lit = (None if photos is None else photos.to(device) for photos in (masked, lit))
    return Views(source, masked, lit, chosen.masked_share, chosen.lit_share)
