"""Pictures to look at: before and after, variants, and shadows with their numbers."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from deshadow.photo import read_image

Floats = NDArray[np.float32]
Labels = NDArray[np.int32]

_PAPER, _INK, _GREY = "#ffffff", "#1a1a1a", "#767676"
_COLOURS = ((255, 96, 0), (0, 122, 255), (52, 168, 83), (214, 51, 132), (111, 66, 193), (0, 150, 160))
_SIDE = 1600  # of one half of a comparison
_TILE = 480  # of one picture of a sheet
_GAP = 12
_CAPTION = 18
_QUALITY = 92  # where a format loses something


def compare(before: Floats, after: Floats) -> Image.Image:
    """(H, W, 3) twice, sRGB in [0, 1] → both side by side, reduced to what a screen shows."""
    left, right = (reduced(picture, _SIDE) for picture in (before, after))
    sheet = Image.new("RGB", (2 * left.width + _GAP, left.height), _PAPER)
    sheet.paste(left, (0, 0))
    sheet.paste(right, (left.width + _GAP, 0))
    return sheet


def variants(pictures: Sequence[tuple[str, Image.Image]]) -> Image.Image:
    """Pictures with a caption under each, in rows."""
    columns = min(len(pictures), 3)
    rows = -(-len(pictures) // columns)
    small = [(caption, _fitted(picture, _TILE)) for caption, picture in pictures]
    width, height = max(view.width for _, view in small), max(view.height for _, view in small)
    cell = height + _CAPTION + 2 * _GAP
    sheet = Image.new("RGB", (_GAP + columns * (width + _GAP), _GAP + rows * cell), _PAPER)
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(_CAPTION)
    for index, (caption, view) in enumerate(small):
        row, column = divmod(index, columns)
        x, y = _GAP + column * (width + _GAP), _GAP + row * cell
        sheet.paste(view, (x, y + height - view.height))
        draw.text((x, y + height + 4), caption, _INK, font)
    return sheet


def overlay(picture: Floats, labels: Labels) -> Image.Image:
    """(H, W, 3) sRGB in [0, 1], (H, W) → the picture, pale outside the shadows, each outlined, numbered."""
    view = Image.fromarray(_codes(picture))
    pale = Image.blend(view.convert("L").convert("RGB"), Image.new("RGB", view.size, "white"), 0.45)
    shown = np.array(Image.composite(view, pale, Image.fromarray(labels > 0)))
    thick = max(1, round(max(view.size) / 700))
    numbers = range(1, int(labels.max(initial=0)) + 1)
    for number in numbers:
        shown[_outline(labels == number, thick)] = _colour(number)
    drawn = Image.fromarray(shown)
    draw = ImageDraw.Draw(drawn)
    size = max(11, round(max(view.size) / 45))
    font = ImageFont.load_default(size)
    for number in numbers:
        x, y = middle(labels == number)
        radius = size * 0.8
        x, y = (min(max(at, radius), side - radius) for at, side in zip((x, y), view.size, strict=True))
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), _colour(number), "white", thick)
        draw.text((x, y), str(number), "white", font, anchor="mm")
    return drawn


def reduced(picture: Floats, side: int) -> Image.Image:
    """(H, W, 3) sRGB in [0, 1] → at most `side` pixels long; never larger than it was."""
    return _fitted(Image.fromarray(_codes(picture)), side)


def packed(image: Image.Image, kind: str = "PNG") -> bytes:
    """The bytes of a file of any format that photos can be written in."""
    return read_image(image).encode(kind, _QUALITY)


def _fitted(image: Image.Image, side: int) -> Image.Image:
    scale = side / max(image.size)
    if scale >= 1:
        return image
    width, height = (max(1, round(length * scale)) for length in image.size)
    return image.resize((width, height), Image.Resampling.LANCZOS, reducing_gap=3)


def _codes(picture: Floats) -> NDArray[np.uint8]:
    return (picture * np.float32(255) + np.float32(0.5)).astype(np.uint8)


def _colour(number: int) -> tuple[int, int, int]:
    return _COLOURS[(number - 1) % len(_COLOURS)]


def _outline(inside: NDArray[np.bool_], thick: int) -> NDArray[np.bool_]:
    """Where a region ends, but not where the picture does."""
    padded = np.pad(inside, thick, mode="edge")
    grown = Image.fromarray(padded).convert("L").filter(ImageFilter.MaxFilter(2 * thick + 1))
    edge = (np.asarray(grown) > 0) & ~padded
    return np.asarray(edge[thick:-thick, thick:-thick])


def middle(inside: NDArray[np.bool_]) -> tuple[float, float]:
    """x, y of the point of a region that has most of it around."""
    height, width = inside.shape
    step = max(1, max(height, width) // 256)
    small = inside[::step, ::step]
    if not small.any():  # thinner than a step
        row, column = np.argwhere(inside)[0]
        return float(column), float(row)
    wide = max(1, round(float(np.count_nonzero(small)) ** 0.5 / 3))
    framed = np.pad(small, wide)  # beyond the picture there is nothing
    around = np.asarray(Image.fromarray(framed).convert("L").filter(ImageFilter.BoxBlur(wide)), np.float32)
    row, column = np.unravel_index(np.argmax(np.where(framed, around, -1)), around.shape)
    return float((column - wide) * step), float((row - wide) * step)
