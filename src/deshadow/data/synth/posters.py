"""Posters: plain colours with large shapes and letters, as on signs, packages, cars and painted walls.

Their dark parts are no shadows, and a shadow that crosses them changes several plain colours at once.
"""

import colorsys

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from deshadow.data.synth.pages import Colour, to_colour, write_line

SHAPES = {
    "disc": 0.17,
    "ring": 0.1,
    "bar": 0.18,
    "polygon": 0.15,
    "petals": 0.08,
    "letters": 0.22,
    "lines": 0.1,
}
"""Probabilities of what is printed."""
BLACK, GREY = 0.25, 0.25
"""Probabilities that a colour is nearly black, and that it is a grey or white."""
GLOSSY = 0.3
"""Probability that the poster shines somewhere."""


def draw_poster(rng: np.random.Generator, side: int) -> Image.Image:
    """A part of a poster, (side, side)."""
    palette = [draw_colour(rng) for _ in range(int(rng.integers(2, 7)))]
    # A shadow would hardly show on black ground.
    poster = Image.new("RGB", (side, side), max(palette[:2], key=sum))
    pen = ImageDraw.Draw(poster)
    names, chances = list(SHAPES), np.array(list(SHAPES.values()))
    for _ in range(int(rng.integers(2, 14))):
        span = side * float(np.exp(rng.uniform(np.log(0.06), np.log(0.9))))
        centre = rng.uniform(-0.05, 1.05, 2) * side
        colour = palette[int(rng.integers(len(palette)))]
        print_shape(pen, rng, str(rng.choice(names, p=chances / chances.sum())), centre, span, colour)
    return shine(poster, rng) if rng.random() < GLOSSY else poster


def draw_colour(rng: np.random.Generator) -> Colour:
    """Nearly black, grey or white, or a strong colour of any brightness."""
    kind, hue = rng.random(), rng.random()
    if kind < BLACK:
        saturation, value = rng.uniform(0, 0.6), rng.uniform(0.03, 0.2)
    elif kind < BLACK + GREY:
        saturation, value = rng.uniform(0, 0.1), rng.uniform(0.25, 1)
    else:
        saturation, value = rng.uniform(0.25, 1), rng.uniform(0.3, 1)
    return to_colour(255 * np.array(colorsys.hsv_to_rgb(hue, saturation, value)))


def print_shape(
    pen: ImageDraw.ImageDraw,
    rng: np.random.Generator,
    name: str,
    centre: np.ndarray,
    span: float,
    colour: Colour,
) -> None:
    """Print one of SHAPES around `centre` (x, y), about `span` pixels wide."""
    (x, y), half = centre, span / 2
    angle = rng.uniform(0, np.pi) if rng.random() < 0.5 else np.pi / 2 * rng.integers(2)
    if name == "disc":
        flat = half * rng.uniform(0.6, 1)
        pen.ellipse([x - half, y - flat, x + half, y + flat], colour)
    elif name == "ring":
        pen.ellipse(
            [x - half, y - half, x + half, y + half],
            outline=colour,
            width=round(span * rng.uniform(0.05, 0.25)),
        )
    elif name == "bar":
        along = np.array([np.cos(angle), np.sin(angle)]) * span * rng.uniform(0.5, 3)
        ends = np.concatenate([centre - along, centre + along]).tolist()
        pen.line(ends, colour, max(2, round(span * rng.uniform(0.05, 0.6))))
    elif name == "polygon":
        around = np.sort(rng.uniform(0, 2 * np.pi, int(rng.integers(3, 7))))
        corners = centre + half * np.stack([np.cos(around), np.sin(around)], -1)
        pen.polygon([(float(left), float(top)) for left, top in corners], colour)
    elif name == "petals":
        count, wide = int(rng.integers(5, 14)), rng.uniform(0.1, 0.3)
        for petal in angle + 2 * np.pi / count * np.arange(count):
            along = half * np.array([np.cos(petal), np.sin(petal)])
            across = wide * along[::-1] * (1, -1)
            tips = centre, centre + 0.5 * along + across, centre + along, centre + 0.5 * along - across
            pen.polygon([(float(left), float(top)) for left, top in tips], colour)
    else:
        letter = span * (rng.uniform(0.4, 1) if name == "letters" else rng.uniform(0.05, 0.15))
        font, count = ImageFont.load_default(letter), int(rng.integers(1, 5)) if name == "lines" else 1
        for line in range(count):
            words = write_line(rng, font, span * rng.uniform(0.8, 2))
            words = words.upper() if rng.random() < 0.4 else words
            place = x - half, y - half + 1.3 * letter * line
            pen.text(place, words, colour, font, stroke_width=round(letter * rng.uniform(0, 0.06)))


def shine(poster: Image.Image, rng: np.random.Generator) -> Image.Image:
    """The poster with a soft highlight, as gloss paint and plastic show the sun or the sky."""
    side = poster.width
    rows, columns = np.mgrid[0 : 1 : side * 1j, 0 : 1 : side * 1j]
    (x, y), (across, down) = rng.uniform(0, 1, 2), np.exp(rng.uniform(np.log(0.05), np.log(0.6), 2))
    light = np.exp(-((columns - x) ** 2) / across**2 - (rows - y) ** 2 / down**2)[..., None]
    levels = np.asarray(poster) + rng.uniform(20, 160) * light
    return Image.fromarray(levels.clip(0, 255).round().astype(np.uint8))
