"""Printed pages: paper of many colours, with columns of text, headings, rules and grey pictures."""

import numpy as np
from PIL import Image, ImageDraw, ImageFont

Colour = tuple[int, int, int]
Font = ImageFont.FreeTypeFont | ImageFont.ImageFont

LETTERS, CHANCES = "etaoinshrdlcumwfgypbvk", 1 / np.arange(3, 25)
"""Letters of the words, and in which proportion they occur."""


def draw_page(rng: np.random.Generator, side: int) -> Image.Image:
    """A part of a page, (side, side)."""
    paper = rng.uniform(170, 250) * np.array([1, rng.uniform(0.94, 1.02), rng.uniform(0.78, 1.04)])
    ink = paper * rng.uniform(0.1, 0.4)
    page = Image.new("RGB", (side, side), to_colour(paper))
    pen = ImageDraw.Draw(page)
    letter = float(np.exp(rng.uniform(np.log(9), np.log(60))))
    columns = int(rng.integers(1, 4 if letter < 24 else 2))
    gap = letter * rng.uniform(1, 3)
    left, top = rng.uniform(-0.3, 0.15, 2) * side
    across = max(4 * letter, (side * rng.uniform(0.9, 1.5) - left) / columns - gap)
    for column in range(columns):
        begin = left + column * (across + gap)
        _fill_column(pen, rng, (begin, top), (across, side), letter, ink)
    return page


def _fill_column(
    pen: ImageDraw.ImageDraw,
    rng: np.random.Generator,
    corner: tuple[float, float],
    size: tuple[float, float],
    letter: float,
    ink: np.ndarray,
) -> None:
    """Paragraphs, headings, rules and pictures from the top of a column to its end."""
    (left, top), (across, down) = corner, size
    spacing = letter * rng.uniform(1.15, 1.9)
    y = top
    while y < down:
        what = rng.choice(["paragraph", "heading", "rule", "picture"], p=[0.72, 0.14, 0.07, 0.07])
        if what == "picture":
            tall = across * rng.uniform(0.2, 0.6)
            pen.rectangle([left, y, left + across, y + tall], to_colour(ink + rng.uniform(20, 110)))
            y += tall + spacing
        elif what == "rule":
            pen.line([left, y, left + across, y], to_colour(ink), max(1, round(letter / 12)))
            y += spacing
        else:
            scale = rng.uniform(1.2, 2) if what == "heading" else 1.0
            font = ImageFont.load_default(letter * scale)
            for line in range(1 if what == "heading" else int(rng.integers(2, 12))):
                room = across * (rng.uniform(0.2, 1) if line and rng.random() < 0.12 else 1)
                bold = round(letter / 14) if what == "heading" else 0
                pen.text((left, y), write_line(rng, font, room), to_colour(ink), font, stroke_width=bold)
                y += spacing * scale
            y += spacing * rng.uniform(0, 1)


def write_line(rng: np.random.Generator, font: Font, room: float) -> str:
    """Words of random letters that fill the room, in pixels."""
    chances = CHANCES / CHANCES.sum()
    count = int(room / max(1.0, font.getlength("eton") / 4))
    letters = rng.choice(list(LETTERS), max(1, count), p=chances)
    letters[rng.random(len(letters)) < 0.17] = " "
    return "".join(letters)


def to_colour(levels: np.ndarray) -> Colour:
    """Levels of red, green and blue as Pillow takes them."""
    red, green, blue = (int(each) for each in levels.clip(0, 255).round())
    return red, green, blue
