"""A sheet of pictures: what a model makes of its validation set."""

import io
from collections.abc import Mapping
from pathlib import Path

import torch
from PIL import Image
from torch import Tensor

from deshadow.data.augment import Pairs
from deshadow.image.guidance import TITLES, draw_guidance, find_span
from deshadow.image.sheets import Card, draw_sheet
from deshadow.nn.lfg import LFGDiffusion
from deshadow.runtime.backend import encode_guidance
from deshadow.system.files import write_whole
from deshadow.training.batches import dilate_masks
from deshadow.training.options import TrainingOptions
from deshadow.training.validation import open_unrecorded, remove_shadows

ROWS, GAP = 8, 4


def draw_samples(model: LFGDiffusion, pairs: Pairs, options: TrainingOptions, path: Path) -> None:
    """Write a sheet with a row for each picture: shadow picture, mask, guidance if any, result, truth.

    The guidances of all rows are drawn in one span, so that they can be compared: one that is the same for
    every picture looks the same in every row.
    """
    chosen = Pairs(*(view[:ROWS] for view in pairs))
    backend, kind = open_unrecorded(model, pairs), model.config.guidance
    guidance = encode_guidance(backend, chosen.picture.float() / 127.5 - 1, dilate_masks(chosen.mask))
    drawn, note = {}, ""
    if guidance is not None:
        values = guidance.float().cpu().numpy()
        span = find_span(values, kind)
        drawn[TITLES[kind]] = torch.from_numpy(draw_guidance(values, span)).permute(0, 3, 1, 2)
        note = f"{TITLES[kind]} from black to white: {span}"
    columns = {
        "picture": chosen.picture,
        "mask": (dilate_masks(chosen.mask) * 255).expand(-1, 3, -1, -1),
        **drawn,
        "result": remove_shadows(
            backend,
            chosen,
            options.val_steps,
            options.seed,
            anchor=options.validation.val_anchor,
        ),
        "truth": chosen.clean,
    }
    save_sheet(columns, path, note)


def save_sheet(columns: Mapping[str, Tensor], path: Path, note: str = "") -> None:
    """Write the columns, each (B, 3, H, W) from 0 to 255, side by side as PNG under their names."""
    pictures = [
        (column.round().clamp(0, 255).to(torch.uint8).permute(0, 2, 3, 1).cpu().numpy())
        for column in (each.float() for each in columns.values())
    ]
    cards = [Card([Image.fromarray(view) for view in row]) for row in zip(*pictures, strict=True)]
    buffer = io.BytesIO()
    draw_sheet(cards, headings=list(columns), note=note, margin=GAP, gap=GAP).save(buffer, "PNG")
    write_whole(path, buffer.getvalue())
