"""Contact sheets: pictures in rows and columns with a title, headings and captions, drawn with Pillow."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter, ImageFont

PAPER, INK, GREY = "#ffffff", "#1a1a1a", "#767676"
_TITLE, _CAPTION = 30, 16  # sizes of the letters in pixels
_Font = ImageFont.FreeTypeFont | ImageFont.ImageFont


@dataclass(frozen=True, slots=True)
class Card:
    """Pictures that belong together: they stand side by side, with one caption under them."""

    views: Sequence[Image.Image]
    name: str = ""
    """The caption's left part; its middle is left out where it is too long."""
    note: str = ""
    """The caption's right part, in grey."""


def draw_sheet(
    cards: Sequence[Card],
    columns: int = 1,
    *,
    title: str = "",
    note: str = "",
    headings: Sequence[str] = (),
    margin: int = 28,
    gap: int = 4,
) -> Image.Image:
    """The cards in rows of so many columns.

    `headings` stand above the pictures of the first row, one for each picture of a card. `margin` is the
    space around and between cards, `gap` that between the pictures of a card.
    """
    columns = min(columns, len(cards))
    rows = -(-len(cards) // columns)
    views = [view for card in cards for view in card.views]
    tile_width, tile_height = max(view.width for view in views), max(view.height for view in views)
    count = max(len(card.views) for card in cards)
    caption = _CAPTION + 8 if any(card.name or card.note for card in cards) else 0
    width, height = count * (tile_width + gap) - gap, tile_height + caption
    below_title = margin + (_TITLE + 10 if title else 0)
    top = below_title + (_CAPTION + 14 if note else 0) + (_CAPTION + 8 if headings else 0)
    size = (
        margin + columns * (width + margin),
        top + rows * height + (rows - 1) * max(margin, gap) + margin,
    )
    sheet = Image.new("RGB", size, PAPER)
    draw = ImageDraw.Draw(sheet)
    large, small = ImageFont.load_default(_TITLE), ImageFont.load_default(_CAPTION)
    draw.text((margin, margin - 6), _shorten(title, large, size[0] - 2 * margin), INK, large)
    draw.text((margin, max(2, below_title - 6)), note, GREY, small)
    for place, heading in enumerate(headings):
        for column in range(columns):
            left = margin + column * (width + margin) + place * (tile_width + gap)
            draw.text((left, top - _CAPTION - 8), _shorten(heading, small, tile_width), GREY, small)
    for index, card in enumerate(cards):
        row, column = divmod(index, columns)
        left, upper = margin + column * (width + margin), top + row * (height + max(margin, gap))
        x = left
        for view in card.views:
            sheet.paste(view, (x, upper + tile_height - view.height))
            x += view.width + gap
        baseline = upper + tile_height + 6
        note_width = small.getlength(card.note)
        draw.text((left + width - note_width, baseline), card.note, GREY, small)
        draw.text((left, baseline), _shorten(card.name, small, width - note_width - 16), INK, small)
    return sheet


def shrink_to_fit(image: Image.Image, side: int) -> Image.Image:
    """The picture with its longer side at most `side` pixels; never larger than it was."""
    scale = side / max(image.size)
    if scale >= 1:
        return image
    width, height = (max(1, round(length * scale)) for length in image.size)
    return image.resize((width, height), Image.Resampling.LANCZOS, reducing_gap=3)


def fade_outside(picture: Image.Image, inside: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """RGB picture, (H, W) → (H, W, 3): pale and grey outside the mask, so that the mask stands out."""
    pale = Image.blend(picture.convert("L").convert("RGB"), Image.new("RGB", picture.size, "white"), 0.45)
    return np.array(Image.composite(picture, pale, Image.fromarray(inside)))


def outline(inside: NDArray[np.bool_], thickness: int = 1) -> NDArray[np.bool_]:
    """(H, W) → (H, W): a line around the mask; the border of the picture counts as no edge."""
    padded = np.pad(inside, thickness, mode="edge")
    dilated = Image.fromarray(padded).convert("L").filter(ImageFilter.MaxFilter(2 * thickness + 1))
    edge = (np.asarray(dilated) > 0) & ~padded
    return np.asarray(edge[thickness:-thickness, thickness:-thickness])


def _shorten(text: str, font: _Font, room: float) -> str:
    """The text without its middle where it is too long: the ends of names tell them apart."""
    if font.getlength(text) <= room:
        return text
    keep = len(text) - 1
    while keep > 2 and font.getlength(f"{text[: keep // 2]}…{text[-(keep - keep // 2) :]}") > room:
        keep -= 1
    return f"{text[: keep // 2]}…{text[-(keep - keep // 2) :]}"
