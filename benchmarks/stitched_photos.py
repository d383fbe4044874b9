"""Photos of 12 megapixels with synthetic shadows, stitched from small pictures of surfaces.

A surface is quilted from pieces of several pictures at their own size (Efros and Freeman 2001): pieces
overlap, and each is cut out along the line on which it differs least from what is there already. So the
texture is real at every pixel, nothing is enlarged, and nothing repeats at regular distances.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from deshadow.data.rng import Draws
from deshadow.data.synth.banks import decode_picture, picture_files
from deshadow.data.synth.occluders import Occluders
from deshadow.data.synth.procedural import draw_occluders
from deshadow.data.synth.projection import cast, place
from deshadow.data.synth.recipe import ShadowRecipe
from deshadow.data.synth.shading import shade_pictures

Codes = NDArray[np.uint8]

PIECE, OVERLAP = 288, 64
"""Side of a piece, and how far neighbours overlap, in pixels."""
TRIED = 24
"""Pieces of which the one that fits best is taken."""
SURFACES = {
    "asphalt": ("asphalt-003", "asphalt-017", "asphalt-019", "asphalt-021", "asphalt-029", "asphalt-033"),
    "concrete": ("pothole-003", "pothole-007", "pothole-011", "pothole-013", "pothole-037"),
    "brick": ("lewis-013", "lewis-021", "lewis-023", "lewis-095"),
    "red brick": ("lewis-003", "lewis-051", "lewis-115"),
    "grass": ("lewis-043", "lewis-077", "lewis-091", "lewis-099", "lewis-103", "lewis-113"),
    "gravel": ("lewis-007", "lewis-033", "lewis-055", "lewis-063"),
    "ivy": ("lewis-027", "lewis-109"),
    "pebbles": ("lewis-011", "lewis-053", "lewis-073", "lewis-087", "lewis-097"),
    "planks": ("lewis-025", "lewis-039", "lewis-059", "lewis-061", "lewis-075", "lewis-105"),
    "slate": ("lewis-037", "lewis-041", "lewis-047", "lewis-079", "lewis-085", "lewis-107"),
    "soil": ("weed-025", "weed-033", "weed-041", "weed-073", "weed-089", "weed-097", "weed-129"),
}
"""Pictures of each surface, by the names of their files."""
HARD = ShadowRecipe(targets="all", softness=(0.001, 0.3), lens=(0.05, 0.15))
"""Edges of 2 to 10 pixels at 12 megapixels, the larger the silhouette the softer."""
SOFT = ShadowRecipe(targets="all", softness=(0.02, 0.4))
"""Edges of 20 to 150 pixels at 12 megapixels."""
SMALL = 6
"""Soft shadows are cast at a sixth of the size and enlarged: synthesis blurs by 19 pixels at most."""
LEAST, MOST = 0.1, 0.5
"""Share of the photo that shadows cover."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What a photo shows: one surface above another, and its shadows."""

    above: str
    below: str
    horizon: float
    """Where the lower surface begins, as a share of the height."""
    soft: bool
    height: int = 3024
    width: int = 4032

    @property
    def small_size(self) -> tuple[int, int]:
        """Height and width at which soft shadows are cast."""
        return self.height // SMALL, self.width // SMALL

    @property
    def name(self) -> str:
        """The surfaces and the kind of shadow in words."""
        return f"{self.above}, {self.below}, {'soft' if self.soft else 'hard'}"


LAYOUTS = (
    Layout("brick", "asphalt", 0.5, soft=False),
    Layout("red brick", "grass", 0.35, soft=True),
    Layout("ivy", "gravel", 0.3, soft=False),
    Layout("planks", "pebbles", 0.4, soft=True),
    Layout("grass", "soil", 0.3, soft=False, height=4032, width=3024),
    Layout("slate", "concrete", 0.55, soft=True),
    Layout("pebbles", "planks", 0.3, soft=False),
    Layout("concrete", "gravel", 0.45, soft=True, height=4032, width=3024),
)


@dataclass(frozen=True, slots=True)
class StitchedPhoto:
    """A photo with shadows, the same without them, and where they differ."""

    name: str
    picture: Codes
    """(H, W, 3)"""
    truth: Codes
    """(H, W, 3)"""
    mask: NDArray[np.bool_]
    """(H, W): penumbra included."""


def stitch_photos(source: Path, seed: int = 0, count: int = len(LAYOUTS)) -> Iterator[StitchedPhoto]:
    """The photos of all layouts, or of the first few, from a folder or tar of backgrounds."""
    occluders = draw_occluders(8, size=1024, seed=seed)
    for number, (layout, truth) in enumerate(lay_grounds(source, seed, count)):
        yield cast_on(layout, truth, occluders, seed, number)


def lay_grounds(source: Path, seed: int = 0, count: int = len(LAYOUTS)) -> Iterator[tuple[Layout, Codes]]:
    """The layouts, or the first few, with their photos (H, W, 3) as they are without shadows."""
    names = {name for surface in SURFACES.values() for name in surface}
    pictures = {
        Path(name).stem: np.asarray(decode_picture(source, name, data).convert("RGB"))
        for name, data in picture_files(source)
        if Path(name).stem in names
    }
    if missing := sorted(names - set(pictures)):
        raise ValueError(f"{source} lacks {', '.join(missing)}: give backgrounds-1.tar")
    for number, layout in enumerate(LAYOUTS[:count]):
        yield layout, lay_ground(layout, pictures, np.random.default_rng([seed, number]))


def lay_ground(layout: Layout, pictures: dict[str, Codes], rng: np.random.Generator) -> Codes:
    """(H, W, 3): one surface above the other, parted by a slightly uneven line."""
    steps = np.linspace(0, layout.width, 25)
    line = np.interp(np.arange(layout.width), steps, rng.normal(layout.horizon, 0.004, 25)) * layout.height
    above = quilt([pictures[name] for name in SURFACES[layout.above]], round(line.max()), layout.width, rng)
    top = int(line.min())
    below = quilt([pictures[name] for name in SURFACES[layout.below]], layout.height - top, layout.width, rng)
    ground = np.concatenate([above[:top], below])
    kept = np.arange(top, len(above))[:, None] < line
    ground[top : len(above)][kept] = above[top:][kept]
    return ground


def quilt(pictures: Sequence[Codes], height: int, width: int, rng: np.random.Generator) -> Codes:
    """(H, W, 3) from pieces of pictures (h, w, 3), whose mean colours are made equal first."""
    means = [picture.mean(axis=(0, 1)) for picture in pictures]
    mean = np.mean(means, axis=0)
    even = [(picture * (mean / own)).clip(0, 255) for picture, own in zip(pictures, means, strict=True)]
    sources = [picture.astype(np.float32) for picture in even]
    step = PIECE - OVERLAP
    rows, columns = (-(-(size - OVERLAP) // step) for size in (height, width))
    canvas = np.zeros((rows * step + OVERLAP, columns * step + OVERLAP, 3), np.float32)
    for row in range(rows):
        for column in range(columns):
            there = canvas[row * step :, column * step :][:PIECE, :PIECE]
            tried = [cut_piece(sources, rng) for _ in range(TRIED)]
            piece = min(tried, key=lambda each: measure_misfit(each, there, row > 0, column > 0))
            new = np.ones((PIECE, PIECE), np.bool_)
            if column:
                new[:, :OVERLAP] &= cut_seam((piece - there)[:, :OVERLAP])
            if row:
                new[:OVERLAP] &= cut_seam((piece - there)[:OVERLAP].swapaxes(0, 1)).T
            there[new] = piece[new]
    return canvas[:height, :width].round().astype(np.uint8)


def cut_piece(sources: Sequence[NDArray[np.float32]], rng: np.random.Generator) -> NDArray[np.float32]:
    """(PIECE, PIECE, 3): a random part of a random picture, mirrored or not."""
    source = sources[int(rng.integers(len(sources)))]
    top, left = (int(rng.integers(size - PIECE + 1)) for size in source.shape[:2])
    piece = source[top : top + PIECE, left : left + PIECE]
    return piece[:, ::-1] if rng.random() < 0.5 else piece


def measure_misfit(
    piece: NDArray[np.float32], there: NDArray[np.float32], above: bool, beside: bool
) -> float:
    """Squared difference where a piece overlaps the pieces above and beside it, on every fourth pixel."""
    difference = (piece[::4, ::4] - there[::4, ::4]) ** 2
    edge = OVERLAP // 4
    return float(above * difference[:edge].sum() + beside * difference[:, :edge].sum())


def cut_seam(difference: NDArray[np.float32]) -> NDArray[np.bool_]:
    """(n, w, 3) → (n, w): True to the right of the path from top to bottom along which it is least."""
    cost = (difference**2).sum(axis=2)
    length, width = cost.shape
    for row in range(1, length):
        padded = np.pad(cost[row - 1], 1, constant_values=np.inf)
        cost[row] += np.minimum(np.minimum(padded[:-2], padded[2:]), padded[1:-1])
    at = int(cost[-1].argmin())
    right = np.empty((length, width), np.bool_)
    for row in range(length - 1, -1, -1):
        first = max(0, at - 1)
        at = at if row == length - 1 else first + int(cost[row, first : at + 2].argmin())
        right[row] = np.arange(width) >= at
    return right


def cast_on(layout: Layout, truth: Codes, occluders: Occluders, seed: int, number: int) -> StitchedPhoto:
    """Cast the first shadows, in the order of their numbers, that cover a fair share of the photo."""
    recipe = SOFT if layout.soft else HARD
    lit = torch.from_numpy(truth).permute(2, 0, 1)[None]
    for index in range(1000 * number, 1000 * number + 1000):
        draws = Draws(seed, torch.tensor([index]))
        small = cast(place(draws, recipe, occluders), occluders, *layout.small_size)
        if LEAST < float((small < 1).any(1).float().mean()) < MOST:
            break
    sun = cast_sun(draws, recipe, occluders, layout)
    picture, _ = shade_pictures(lit, draws, recipe, sun, torch.ones_like(sun))
    return StitchedPhoto(
        layout.name, picture[0].permute(1, 2, 0).contiguous().numpy(), truth, (sun < 1)[0, 0].numpy()
    )


def cast_sun(draws: Draws, recipe: ShadowRecipe, occluders: Occluders, layout: Layout) -> Tensor:
    """(1, 1, H, W) in [0, 1]: the share of the sun that arrives past all shadows."""
    size = layout.height, layout.width
    sun = cast(place(draws, recipe, occluders), occluders, *(layout.small_size if layout.soft else size))
    blocked = 1 - sun.prod(1, keepdim=True)
    if layout.soft:
        blocked = F.interpolate(blocked, size=size, mode="bicubic", align_corners=False).clamp(0, 1)
    return 1 - blocked
