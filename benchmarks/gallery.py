"""Makes docs/gallery.md and its pictures with the shipped weights: python benchmarks/gallery.py"""

from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap

import numpy as np
from drawn_scenes import Scene, draw_scenes
from PIL import Image

import deshadow
from deshadow.image.sheets import Card, draw_sheet
from deshadow.metrics.scores import lab_difference
from deshadow.removal.options import parse_options
from deshadow.removal.remover import RemovalResult

DOCS = Path(__file__).parents[1] / "docs"
WIDTH = 1000
"""Of a picture, in pixels."""
QUALITY = 75

HEAD = """\
# Gallery

Each picture shows a photo before and after the command above it. The bricks, the gravel, the grass, the
portrait and the photographer come with scikit-image (public domain or CC0); the printed page is drawn.
**All shadows are drawn over the photos**, except in the last picture, so that the truth is known: the error
is the mean absolute LAB difference to the photo without the shadow, inside the shadow.

`python benchmarks/gallery.py` makes this page.
"""


@dataclass(frozen=True)
class Entry:
    """One picture of the gallery."""

    name: str
    """Of the file."""
    scene: str
    title: str
    text: str
    flags: str = ""
    """The command's options."""
    masked: bool = False
    """Whether the true shadow is given as the mask."""
    at: tuple[int, int] | None = None


ENTRIES = (
    Entry(
        "outdoor",
        "pavement",
        "Outdoor",
        "Leaves shade a pavement: many small shadows.",
    ),
    Entry("document", "page", "Document", "A hand is between the lamp and a printed page."),
    Entry("portrait", "portrait", "Portrait", "A plant shades a face and a suit."),
    Entry("several", "lawn", "Several shadows", "Three people shade a lawn."),
    Entry(
        "one",
        "lawn",
        "One of several",
        "Only the shadow at a point is removed. No pixel of the other shadows changes.",
        "--at 450,300",
        at=(450, 300),
    ),
    Entry(
        "faint",
        "faint",
        "Faint",
        "About 60 % of the light is left in the shadow. The mask is given, because the detector does not "
        "find a shadow this faint.",
        "--mask mask.png",
        masked=True,
    ),
    Entry("deep", "deep", "Deep", "About 11 % of the light is left in the shadow."),
    Entry(
        "failure-black",
        "black",
        "Failure: a black shadow",
        "Less than 1 % of the light is left, so the file contains no detail that could be restored, and a "
        "grey patch remains.",
    ),
    Entry(
        "failure-dark-clothes",
        "photographer",
        "Failure: dark clothes",
        "No shadow is drawn here. The detector takes a part of a black coat for a shadow. To avoid this, "
        "point at the shadow that you mean, give a mask, or name the shadows that should stay (`--exclude`).",
    ),
)


def main() -> None:
    remover, scenes = deshadow.Remover(), draw_scenes()
    (DOCS / "gallery").mkdir(exist_ok=True)
    sections = [HEAD]
    for entry in ENTRIES:
        scene = scenes[entry.scene]
        result = remove(remover, entry, scene)
        after = scene.photo if result is None else compose(scene, result)
        views = [Image.fromarray(view) for view in (scene.photo, after)]
        sheet = draw_sheet([Card(views)], margin=0, gap=12)
        sheet.thumbnail((WIDTH, WIDTH))
        sheet.save(DOCS / f"gallery/{entry.name}.webp", quality=QUALITY, method=6)
        sections.append(describe(entry, scene, result, after))
        print(sections[-1])
    (DOCS / "gallery.md").write_text("\n".join(sections))


def remove(remover: deshadow.Remover, entry: Entry, scene: Scene) -> RemovalResult | None:
    options = parse_options({"at": [entry.at] if entry.at else ()})
    pixels = scene.photo.astype(np.float32) / np.float32(255)
    mask = scene.shade > 0.3 if entry.masked else None
    return remover.relight(pixels, remover.select(pixels, mask, options), options)


def compose(scene: Scene, result: RemovalResult) -> np.ndarray:
    pixels = result.composite(scene.photo.astype(np.float32) / np.float32(255))
    return (pixels * np.float32(255) + np.float32(0.5)).clip(0, 255).astype(np.uint8)


def describe(entry: Entry, scene: Scene, result: RemovalResult | None, after: np.ndarray) -> str:
    command = f"deshadow photo.jpg {entry.flags}".strip()
    inside = scene.shade > 0.5
    if entry.at is not None and result is not None:
        inside &= result.weight > 0.5
    line = f"`{command}`"
    if inside.any():
        before, later = (lab_difference(view, scene.clean, inside) for view in (scene.photo, after))
        line += f": error {before:.1f} before, {later:.1f} after."
    text = "\n".join(wrap(entry.text, 118))
    picture = f"![{entry.title}, before and after](gallery/{entry.name}.webp)"
    return f"## {entry.title}\n\n{text}\n\n{line}\n\n{picture}\n"


if __name__ == "__main__":
    main()
