"""Banks: tensors of all backgrounds and of all silhouettes that synthesis draws from, read from pictures."""

import io
import struct
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Tensor

from deshadow.data.pairs.find import pick_evenly
from deshadow.data.pairs.pictures import ENDINGS
from deshadow.data.synth.occluders import Occluders
from deshadow.data.synth.procedural import draw_backgrounds, draw_occluders

ROOM = 2**30
"""Most bytes of a bank; from a larger set, pictures are picked evenly."""


def open_banks(
    backgrounds: Path | None,
    occluders: Path | None,
    size: int,
    seed: int,
    drawn: tuple[int, int],
    device: torch.device | str = "cpu",
) -> tuple[Tensor, Occluders]:
    """The banks of backgrounds and occluders: from the given paths, or `drawn`, so many of each."""
    if backgrounds is None:
        surfaces = draw_backgrounds(drawn[0], size, seed, device=device)
    else:
        surfaces = load_backgrounds(backgrounds, size).to(device)
    objects = None if occluders is None else load_silhouettes(occluders)
    return surfaces, draw_occluders(drawn[1], seed=seed, objects=objects, device=device)


def picture_files(source: Path) -> Iterator[tuple[str, bytes]]:
    """Names and bytes of all pictures in a folder (and below) or a tar, in the order of their names."""
    if source.is_dir():
        for path in sorted(
            path for path in source.rglob("*") if path.suffix.lower() in ENDINGS and path.is_file()
        ):
            yield str(path.relative_to(source)), path.read_bytes()
        return
    if not source.is_file():
        raise ValueError(f"{source} does not exist; give a folder or a tar of pictures")
    try:
        with tarfile.open(source) as archive:
            members = [
                member
                for member in archive
                if member.isfile() and Path(member.name).suffix.lower() in ENDINGS
            ]
            for member in sorted(members, key=lambda member: member.name):
                file = archive.extractfile(member)
                assert file is not None
                yield member.name, file.read()
    except (tarfile.ReadError, EOFError, zlib.error):
        raise ValueError(f"{source} is neither a folder nor a tar of pictures") from None


def load_backgrounds(source: Path, size: int) -> Tensor:
    """Backgrounds (N, 3, size, size) of 8 bits: the middle square of each picture, resized."""
    pictures = [
        np.asarray(crop_middle(decode_picture(source, *file).convert("RGB"), size))
        for file in pick_files(source, 3 * size**2)
    ]
    return torch.from_numpy(np.stack(pictures)).permute(0, 3, 1, 2).contiguous()


def load_silhouettes(source: Path, size: int = 192) -> Tensor:
    """Silhouettes (N, 1, size, size), 255 where light is blocked: what is opaque, or bright if all is opaque.

    Each is scaled to fill the square but for a blank border, and stands on its lower edge.
    """
    shapes = [frame_silhouette(decode_picture(source, *file), size) for file in pick_files(source, size**2)]
    return torch.from_numpy(np.stack(shapes))[:, None]


def pick_files(source: Path, each: int) -> list[tuple[str, bytes]]:
    """Files of a source, picked evenly if all of them, at `each` bytes, would take too much memory."""
    files = list(picture_files(source))
    if not files:
        raise ValueError(f"{source} holds no pictures ({', '.join(sorted(ENDINGS))})")
    return pick_evenly(files, max(1, ROOM // each))


def decode_picture(source: Path, name: str, data: bytes) -> Image.Image:
    """Decode a picture of a source, turned upright."""
    try:
        picture = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
        picture.load()
    except (OSError, SyntaxError, ValueError, EOFError, struct.error, Image.DecompressionBombError):
        raise ValueError(f"{name} in {source} cannot be read as a picture; remove it or replace it") from None
    return picture


def crop_middle(picture: Image.Image, size: int) -> Image.Image:
    """Cut the middle square and resize it."""
    width, height = picture.size
    side = min(width, height)
    left, top = (width - side) / 2, (height - side) / 2
    return picture.resize((size, size), Image.Resampling.LANCZOS, (left, top, left + side, top + side))


def frame_silhouette(picture: Image.Image, size: int) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    """Coverage (size, size) of one silhouette, on its lower edge, with a blank border."""
    if picture.has_transparency_data:
        solid = picture.convert("RGBA").getchannel("A")
    else:
        solid = picture.convert("L")
    box = solid.point([0] * 128 + [255] * 128).getbbox()
    canvas = Image.new("L", (size, size))
    if box is not None:
        margin = max(2, size // 48)
        scale = (size - 2 * margin) / max(box[2] - box[0], box[3] - box[1])
        width, height = (max(1, round((box[k + 2] - box[k]) * scale)) for k in (0, 1))
        canvas.paste(
            solid.resize(
                (width, height), Image.Resampling.BOX if scale < 1 else Image.Resampling.BILINEAR, box
            ),
            ((size - width) // 2, size - margin - height),
        )
    return np.asarray(canvas)
