"""A sheet of pictures: what a model makes of its validation set."""

import io
from collections.abc import Mapping
from pathlib import Path

import torch
from PIL import Image
from torch import Tensor

from deshadow.data.augment import Pairs
from deshadow.image.sheets import Card, draw_sheet
from deshadow.nn.lfg import LFGDiffusion
from deshadow.system.files import write_whole
from deshadow.training.batches import dilate_masks
from deshadow.training.options import TrainingOptions
from deshadow.training.validation import open_unrecorded, remove_shadows

ROWS, GAP = 8, 4


def draw_samples(model: LFGDiffusion, pairs: Pairs, options: TrainingOptions, path: Path) -> None:
    """Write a sheet with a row for each picture: shadow picture, mask, guidance if any, result, truth."""
    chosen = Pairs(*(view[:ROWS] for view in pairs))
    backend = open_unrecorded(model, pairs)
    picture = chosen.picture.float() / 127.5 - 1
    guidance = backend.encode(picture, dilate_masks(chosen.mask))
    columns = {
        "picture": chosen.picture,
        "mask": (dilate_masks(chosen.mask) * 255).expand(-1, 3, -1, -1),
        **({} if guidance is None else {"guidance": grey(guidance)}),
        "result": remove_shadows(
            backend,
            chosen,
            options.validation.val_steps,
            options.seed,
            anchor=options.validation.val_anchor,
        ),
        "truth": chosen.clean,
    }
    save_sheet(columns, path)


def save_sheet(columns: Mapping[str, Tensor], path: Path) -> None:
    """Write the columns, each (B, 3, H, W) from 0 to 255, side by side as PNG under their names."""
    pictures = [
        (column.round().clamp(0, 255).to(torch.uint8).permute(0, 2, 3, 1).cpu().numpy())
        for column in (each.float() for each in columns.values())
    ]
    cards = [Card([Image.fromarray(view) for view in row]) for row in zip(*pictures, strict=True)]
    buffer = io.BytesIO()
    draw_sheet(cards, headings=list(columns), margin=GAP, gap=GAP).save(buffer, "PNG")
    write_whole(path, buffer.getvalue())


def grey(guidance: Tensor) -> Tensor:
    """(B, 1 or 3, H, W) → (B, 3, H, W) from 0 to 255, each picture stretched to the full range."""
    low, high = (how(guidance, dim=(1, 2, 3), keepdim=True) for how in (torch.amin, torch.amax))
    return ((guidance - low) / (high - low).clamp(min=1e-6) * 255).expand(-1, 3, -1, -1)
