"""Pictures for the user: before and after, variants, and numbered shadows."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from deshadow.image.colour import round_to_8_bits
from deshadow.image.sheets import Card, draw_sheet, fade_outside, outline, shrink_to_fit
from deshadow.photo import encode_photo, read_image
from deshadow.removal.masks import Labels
from deshadow.removal.parts import measure_extent

Floats = NDArray[np.float32]

_COLOURS = ((255, 96, 0), (0, 122, 255), (52, 168, 83), (214, 51, 132), (111, 66, 193), (0, 150, 160))
_SIDE = 1600  # longest side of one half of a comparison
_TILE = 480  # longest side of one picture of a sheet
_GAP = 12
_QUALITY = 92  # of lossy formats


def draw_comparison(before: Floats, after: Floats) -> Image.Image:
    """(H, W, 3) twice, sRGB in [0, 1] → both side by side, downscaled for a screen."""
    return draw_sheet(
        [Card([shrink_picture(picture, _SIDE) for picture in (before, after)])], margin=0, gap=_GAP
    )


def draw_variants(pictures: Sequence[tuple[str, Image.Image]]) -> Image.Image:
    """Pictures with a caption under each, in rows."""
    cards = [Card([shrink_to_fit(picture, _TILE)], caption) for caption, picture in pictures]
    return draw_sheet(cards, columns=3, margin=_GAP)


def draw_overlay(picture: Floats, labels: Labels) -> Image.Image:
    """(H, W, 3) sRGB in [0, 1], (H, W) → the picture, pale outside the outlined and numbered shadows."""
    view = Image.fromarray(round_to_8_bits(picture))
    shown = fade_outside(view, labels > 0)
    extent = measure_extent(*view.size)
    thick = max(1, round(extent / 700))
    numbers = range(1, int(labels.max(initial=0)) + 1)
    for number in numbers:
        shown[outline(labels == number, thick)] = _colour(number)
    drawn = Image.fromarray(shown)
    draw = ImageDraw.Draw(drawn)
    size = max(11, round(extent / 45))
    font = ImageFont.load_default(size)
    for number in numbers:
        x, y = find_middle(labels == number)
        radius = size * 0.8
        x, y = (min(max(at, radius), side - radius) for at, side in zip((x, y), view.size, strict=True))
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), _colour(number), "white", thick)
        draw.text((x, y), str(number), "white", font, anchor="mm")
    return drawn


def shrink_picture(picture: Floats, side: int) -> Image.Image:
    """(H, W, 3) sRGB in [0, 1] → a picture of at most `side` pixels along its longer side."""
    return shrink_to_fit(Image.fromarray(round_to_8_bits(picture)), side)


def encode_image(image: Image.Image, kind: str = "PNG") -> bytes:
    """The bytes of a file, in any format that photos can be written in."""
    return encode_photo(read_image(image), kind, _QUALITY)


def _colour(number: int) -> tuple[int, int, int]:
    return _COLOURS[(number - 1) % len(_COLOURS)]


def find_middle(inside: NDArray[np.bool_]) -> tuple[float, float]:
    """x, y: a point well inside a region (H, W), far from its edges."""
    height, width = inside.shape
    step = max(1, round(measure_extent(height, width)) // 256)
    small = inside[::step, ::step]
    if not small.any():  # thinner than a step
        row, column = np.argwhere(inside)[0]
        return float(column), float(row)
    wide = max(1, round(float(np.count_nonzero(small)) ** 0.5 / 3))
    framed = np.pad(small, wide)  # beyond the picture there is nothing
    around = np.asarray(Image.fromarray(framed).convert("L").filter(ImageFilter.BoxBlur(wide)), np.float32)
    row, column = np.unravel_index(np.argmax(np.where(framed, around, -1)), around.shape)
    return float((column - wide) * step), float((row - wide) * step)
