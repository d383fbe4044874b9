"""Contact sheets: triplets side by side, drawn with Pillow."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from deshadow.data.pairs.sample import Triplet

_TILE = 272  # width of one picture
_GAP = 4  # between the pictures of a triplet
_MARGIN = 28  # around and between triplets
_TITLE = 30
_CAPTION = 16
_PAPER, _INK, _GREY = "#ffffff", "#1a1a1a", "#767676"
_OUTLINE = (255, 96, 0)


@dataclass(frozen=True, slots=True)
class Card:
    """A triplet with what is written under it."""

    triplet: Triplet
    name: str
    note: str


def draw_sheet(cards: Sequence[Card], title: str, note: str) -> Image.Image:
    """The cards in rows of two, each as picture, outline of the mask, clean picture."""
    columns = min(2, len(cards))
    rows = -(-len(cards) // columns)
    tile = (_TILE, _tile_height(cards))
    card = (3 * _TILE + 2 * _GAP, tile[1] + 8 + _CAPTION)
    top = _MARGIN + _TITLE + 40
    size = (
        _MARGIN + columns * (card[0] + _MARGIN),
        top + rows * (card[1] + _MARGIN - 4) + 4,
    )
    sheet = Image.new("RGB", size, _PAPER)
    draw = ImageDraw.Draw(sheet)
    large, small = ImageFont.load_default(_TITLE), ImageFont.load_default(_CAPTION)
    title = _shortened(title, large, size[0] - 2 * _MARGIN)
    draw.text((_MARGIN, _MARGIN - 6), title, _INK, large)
    draw.text((_MARGIN, _MARGIN + _TITLE + 4), note, _GREY, small)
    for index, each in enumerate(cards):
        row, column = divmod(index, columns)
        left = _MARGIN + column * (card[0] + _MARGIN)
        upper = top + row * (card[1] + _MARGIN - 4)
        x = left
        for view in _views(each.triplet, tile):
            sheet.paste(view, (x, upper + tile[1] - view.height))
            x += view.width + _GAP
        baseline = upper + tile[1] + 6
        note_width = small.getlength(each.note)
        draw.text((left + card[0] - note_width, baseline), each.note, _GREY, small)
        draw.text((left, baseline), _shortened(each.name, small, card[0] - note_width - 16), _INK, small)
    return sheet


def _tile_height(cards: Sequence[Card]) -> int:
    """The height that suits most pictures; taller ones are drawn narrower."""
    ratios = [card.triplet.mask.shape[0] / card.triplet.mask.shape[1] for card in cards]
    return round(_TILE * min(max(float(np.median(ratios)), 0.4), 1.4))


def _views(triplet: Triplet, tile: tuple[int, int]) -> list[Image.Image]:
    height, width = triplet.mask.shape
    scale = min(tile[0] / width, tile[1] / height)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    picture, clean = (
        Image.fromarray(pixels).resize(size, Image.Resampling.LANCZOS)
        for pixels in (triplet.picture, triplet.clean)
    )
    # A mask of thin or scattered parts must not vanish when it is made small.
    mask = (
        Image.fromarray(triplet.mask)
        .resize(size, Image.Resampling.BOX)
        .point(lambda level: 255 * (level > 96))
    )
    return [picture, _outlined(picture, mask), clean]


def _outlined(picture: Image.Image, mask: Image.Image) -> Image.Image:
    """The picture, paler outside the mask, with a line along the mask's edge."""
    pale = Image.blend(picture.convert("L").convert("RGB"), Image.new("RGB", picture.size, "white"), 0.45)
    view = Image.composite(picture, pale, mask)
    # The border of the picture is no edge of the shadow, so the mask is carried on beyond it.
    inside: NDArray[np.uint8] = np.pad(np.asarray(mask), 2, mode="edge")
    grown = Image.fromarray(inside).filter(ImageFilter.MaxFilter(3))
    line = (np.asarray(grown) != inside)[2:-2, 2:-2]
    pixels = np.array(view)
    pixels[line] = _OUTLINE
    return Image.fromarray(pixels)


def _shortened(text: str, font: ImageFont.FreeTypeFont | ImageFont.ImageFont, room: float) -> str:
    """The text, its middle left out where it is too long: the ends of names tell them apart."""
    if font.getlength(text) <= room:
        return text
    keep = len(text) - 1
    while keep > 2 and font.getlength(f"{text[: keep // 2]}…{text[-(keep - keep // 2) :]}") > room:
        keep -= 1
    return f"{text[: keep // 2]}…{text[-(keep - keep // 2) :]}"
