"""Printed pages as backgrounds, since photos of documents have shadows too, and data sets hardly any pages.

python -m deshadow.data.synth.pages FOLDER COUNT
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont

LETTERS, CHANCES = "etaoinshrdlcumwfgypbvk", 1 / np.arange(3, 25)
"""Letters of the words, and in which proportion they occur."""
SIDE = 448
"""Side of a page, in pixels."""
SHARPER = 2
"""Pages are drawn so many times larger, and then reduced."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Write pages as PNG into a folder."""
    given = sys.argv[1:] if arguments is None else arguments
    if len(given) != 2 or not given[1].isdigit():
        sys.exit(__doc__)
    folder = Path(given[0])
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(int(given[1])):
        draw_page(np.random.default_rng(number)).save(folder / f"page-{number:03d}.png")


def draw_page(rng: np.random.Generator) -> Image.Image:
    """A part of a page: paper of some colour, columns of text, headings, rules and grey pictures."""
    width = height = SHARPER * SIDE
    paper = rng.uniform(170, 250) * np.array([1, rng.uniform(0.94, 1.02), rng.uniform(0.78, 1.04)])
    ink = paper * rng.uniform(0.1, 0.4)
    page = Image.new("RGB", (width, height), _colour(paper))
    pen = ImageDraw.Draw(page)
    letter = float(np.exp(rng.uniform(np.log(9), np.log(60))))
    columns = int(rng.integers(1, 4 if letter < 24 else 2))
    gap = letter * rng.uniform(1, 3)
    left, top = rng.uniform(-0.3, 0.15, 2) * width
    across = max(4 * letter, (width * rng.uniform(0.9, 1.5) - left) / columns - gap)
    for column in range(columns):
        begin = left + column * (across + gap)
        _fill_column(pen, rng, (begin, top), (across, height), letter, ink)
    grain = rng.normal(0, rng.uniform(0, 4), (height, width, 1))
    rows, lines = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
    light = 1 + rng.uniform(-0.12, 0.12) * rows + rng.uniform(-0.12, 0.12) * lines
    codes = (np.asarray(page) * light[..., None] + grain).clip(0, 255).round().astype(np.uint8)
    small = Image.fromarray(codes).filter(ImageFilter.GaussianBlur(rng.uniform(0, 1.5))).resize((SIDE, SIDE))
    return small.rotate(90 * int(rng.integers(4)))


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
            pen.rectangle([left, y, left + across, y + tall], _colour(ink + rng.uniform(20, 110)))
            y += tall + spacing
        elif what == "rule":
            pen.line([left, y, left + across, y], _colour(ink), max(1, round(letter / 12)))
            y += spacing
        else:
            scale = rng.uniform(1.2, 2) if what == "heading" else 1.0
            font = ImageFont.load_default(letter * scale)
            for line in range(1 if what == "heading" else int(rng.integers(2, 12))):
                room = across * (rng.uniform(0.2, 1) if line and rng.random() < 0.12 else 1)
                bold = round(letter / 14) if what == "heading" else 0
                pen.text((left, y), _write_line(rng, font, room), _colour(ink), font, stroke_width=bold)
                y += spacing * scale
            y += spacing * rng.uniform(0, 1)


def _write_line(rng: np.random.Generator, font: Font, room: float) -> str:
    """Words of random letters that fill the room, in pixels."""
    chances = CHANCES / CHANCES.sum()
    count = int(room / max(1.0, font.getlength("eton") / 4))
    letters = rng.choice(list(LETTERS), max(1, count), p=chances)
    letters[rng.random(len(letters)) < 0.17] = " "
    return "".join(letters)


def _colour(levels: np.ndarray) -> tuple[int, int, int]:
    red, green, blue = (int(each) for each in levels.clip(0, 255).round())
    return red, green, blue


if __name__ == "__main__":
    main()
