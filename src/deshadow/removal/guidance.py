"""Pictures of what guides the denoiser on a photo: its latent, or what takes the latent's place (Fig. 5)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from deshadow.diffusion.arrays import to_numpy
from deshadow.image.colour import round_to_8_bits
from deshadow.image.guidance import TITLES, draw_guidance, find_span
from deshadow.image.sheets import PAPER, Card, draw_sheet
from deshadow.image.strips import Field
from deshadow.removal.modes import make_network_input
from deshadow.removal.options import RemovalOptions
from deshadow.removal.reach import NETWORK_SIDE
from deshadow.removal.remover import Remover
from deshadow.removal.selection import Selection
from deshadow.removal.sheets import shrink_picture
from deshadow.runtime.backend import Backend, encode_guidance

_MARGIN = 12


@dataclass(frozen=True, slots=True)
class Panel:
    """A picture with what stands under it."""

    picture: Image.Image
    title: str
    note: str = ""


def encode_photo_guidance(backend: Backend, pixels: Field, selection: Selection) -> NDArray[np.float32]:
    """(C, h, w): the guidance of a whole photo (H, W, 3), at the size that networks see."""
    _, picture, mask = make_network_input(pixels, selection, RemovalOptions.dilate)
    guidance = encode_guidance(backend, picture, mask)
    if guidance is None:
        raise ValueError(
            "these weights have no guidance (their denoiser works without an encoder): choose others"
        )
    found: NDArray[np.float32] = to_numpy(guidance)[0]
    return found


def draw_panels(
    removers: Mapping[str, Remover], pixels: Field, mask: NDArray[Any] | None = None, name: str = "photo"
) -> Iterator[Panel]:
    """Panels of a photo (H, W, 3) sRGB in [0, 1]: photo, dilated mask, and the guidance of each remover.

    With a single remover its result follows. Without a mask the first remover finds the shadows. Removers are
    given by their names, which stand under the panels.
    """
    first = next(iter(removers.values()))
    selection = first.select(pixels, mask)
    seen, _, dilated = make_network_input(pixels, selection, RemovalOptions.dilate)
    covered = float((selection.mask > 0.5).mean())
    yield Panel(shrink_picture(seen, NETWORK_SIDE), name)
    levels = round_to_8_bits(dilated[0, 0])
    yield Panel(Image.fromarray(levels).convert("RGB"), "mask, dilated", f"shadow {100 * covered:.0f} %")
    for title, remover in removers.items():
        backend = remover.backend
        guidance, kind = encode_photo_guidance(backend, pixels, selection), backend.config.guidance
        span = find_span(guidance, kind)
        view = Image.fromarray(draw_guidance(guidance, span))
        note = f"black to white: {span}" if kind == "latent" else ""
        yield Panel(view, f"{TITLES[kind]} of {title}", note)
    if len(removers) == 1:
        found = first.relight(pixels, selection)
        result = pixels if found is None else found.composite(pixels)
        yield Panel(shrink_picture(result, NETWORK_SIDE), "result")


def draw_guidance_sheet(rows: Sequence[Sequence[Panel]]) -> Image.Image:
    """The panels in rows, each with its title and note under it; a row is as high as its own pictures."""
    strips = [
        draw_sheet(
            [Card([panel.picture], panel.title, panel.note) for panel in row],
            columns=len(row),
            margin=_MARGIN,
        )
        for row in rows
    ]
    size = max(strip.width for strip in strips), sum(strip.height for strip in strips)
    sheet = Image.new("RGB", size, PAPER)
    top = 0
    for strip in strips:
        sheet.paste(strip, (0, top))
        top += strip.height
    return sheet
