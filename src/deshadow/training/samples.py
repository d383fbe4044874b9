"""A sheet of what a model does to its validation pictures."""

import io
from copy import deepcopy
from pathlib import Path

import torch
from PIL import Image
from torch import Tensor

from deshadow.data.augment import Pairs
from deshadow.nn.lfg import LFGDiffusion
from deshadow.runtime.backends import TorchBackend
from deshadow.system.files import write_whole
from deshadow.training.batches import network_mask
from deshadow.training.options import Options
from deshadow.training.validation import remove

ROWS, GAP = 8, 4


def draw_samples(model: LFGDiffusion, pairs: Pairs, options: Options, path: Path) -> None:
    """A row a picture: shadow picture, mask, guidance if there is any, result, truth."""
    chosen = Pairs(*(view[:ROWS] for view in pairs))
    backend = TorchBackend(deepcopy(model), str(pairs.picture.device))
    picture = chosen.picture.float() / 127.5 - 1
    guidance = backend.encode(picture, network_mask(chosen.mask))
    columns = [
        chosen.picture,
        (network_mask(chosen.mask) * 255).expand(-1, 3, -1, -1),
        *([] if guidance is None else [grey(guidance)]),
        remove(backend, chosen, options.val_steps, options.seed),
        chosen.clean,
    ]
    sheet = torch.cat([frame(column) for column in columns], dim=3)
    rows = torch.cat(list(sheet), dim=1).permute(1, 2, 0)
    buffer = io.BytesIO()
    Image.fromarray(rows.cpu().numpy()).save(buffer, "PNG")
    write_whole(path, buffer.getvalue())


def grey(guidance: Tensor) -> Tensor:
    """(B, 1 or 3, H, W) → (B, 3, H, W) from 0 to 255, each picture over its own range."""
    low, high = (how(guidance, dim=(1, 2, 3), keepdim=True) for how in (torch.amin, torch.amax))
    return ((guidance - low) / (high - low).clamp(min=1e-6) * 255).expand(-1, 3, -1, -1)


def frame(pictures: Tensor) -> Tensor:
    """(B, 3, H, W) → 8 bits with a white border to the right and below."""
    pictures = pictures.round().clamp(0, 255).to(torch.uint8)
    return torch.nn.functional.pad(pictures, (0, GAP, 0, GAP), value=255)
