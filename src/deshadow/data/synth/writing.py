"""Writing synthetic triplets: shadow/, mask/, shadow_free/ and a mask for each shadow."""

import hashlib
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from deshadow.data.pairs.pictures import save_picture
from deshadow.data.responses import vary_responses
from deshadow.data.rng import Draws
from deshadow.data.synth.occluders import Occluders
from deshadow.data.synth.recipe import DEFAULT_RECIPE, ShadowRecipe
from deshadow.data.synth.triplets import Triplets, synthesise
from deshadow.image.colour import round_to_8_bits
from deshadow.system.files import write_whole

FOLDERS = ("shadow", "mask", "shadow_free", "instances")
SETTINGS = "synth.json"
BATCH = 8


def write_triplets(
    out: Path,
    backgrounds: Tensor,
    occluders: Occluders,
    count: int,
    seed: int = 0,
    recipe: ShadowRecipe = DEFAULT_RECIPE,
    progress: Callable[[int], None] = lambda done: None,
    responses: float = 0.0,
) -> int:
    """Write triplets number 0 to `count` − 1 as PNG and return how many were new.

    Triplets that exist already are kept, if the folder has the same settings. `progress` is called with the
    number of triplets that were added. `responses` is the share of triplets that are shown as another camera
    would give them.
    """
    prepare_folder(out, backgrounds, occluders, seed, recipe, responses)
    missing = [number for number in range(count) if not (out / "shadow" / file_name(number)).exists()]
    progress(count - len(missing))
    device = backgrounds.device
    with ThreadPoolExecutor(4) as pool:
        for start in range(0, len(missing), BATCH):
            numbers = missing[start : start + BATCH]
            index = torch.tensor(numbers, device=device)
            made = synthesise(backgrounds, occluders, index, seed, recipe)
            if responses:
                views = made.picture / 255, made.clean / 255
                picture, clean = vary_responses(views, Draws(seed, index), responses)
                made = made._replace(picture=round_to_8_bits(picture), clean=round_to_8_bits(clean))
            on_cpu = Triplets(*(part.cpu() for part in made))
            for _ in pool.map(partial(write_one, out, on_cpu), range(len(numbers)), numbers):
                progress(1)
    return len(missing)


def prepare_folder(
    out: Path, backgrounds: Tensor, occluders: Occluders, seed: int, recipe: ShadowRecipe, responses: float
) -> None:
    """Make the folders, or check that existing ones have the same settings."""
    settings = {
        "seed": seed,
        "size": list(backgrounds.shape[-2:]),
        "recipe": asdict(recipe),
        "responses": responses,
        "backgrounds": fingerprint_bank(backgrounds),
        "occluders": fingerprint_bank(occluders.silhouettes),
    }
    text = json.dumps(settings, indent=2) + "\n"
    check_folder(out)
    if (out / SETTINGS).is_file() and (out / SETTINGS).read_text() != text:
        raise ValueError(f"{out} holds triplets of other settings (see {SETTINGS} there); give a new folder")
    for folder in FOLDERS:
        (out / folder).mkdir(parents=True, exist_ok=True)
    write_whole(out / SETTINGS, text.encode())


def check_folder(out: Path) -> None:
    """Check that a folder is new, empty, or was written by `write_triplets`."""
    there = next(place for place in (out, *out.absolute().parents) if place.exists())
    if not there.is_dir():
        raise ValueError(f"{there} is a file; give a folder for the triplets")
    if out.exists() and any(out.iterdir()) and not (out / SETTINGS).is_file():
        raise ValueError(f"{out} is not empty and holds no synthetic triplets; give a new folder")


def fingerprint_bank(bank: Tensor) -> str:
    """Short fingerprint of a bank."""
    return hashlib.blake2b(bank.cpu().numpy().tobytes(), digest_size=8).hexdigest()


def file_name(number: int) -> str:
    """Name of a triplet's files, the same in every folder."""
    return f"{number:06d}.png"


def write_one(out: Path, made: Triplets, k: int, number: int) -> None:
    """Write triplet `k` of a batch as `number`; its shadow picture last, which marks it as complete."""
    name = file_name(number)
    for slot in range(made.instances.shape[1]):
        if made.instances[k, slot].any():
            kind = "target" if made.targets[k, slot] else "other"
            save_png(made.instances[k, slot].numpy(), out / "instances" / f"{number:06d}_{slot}_{kind}.png")
    save_png(made.mask[k, 0].numpy(), out / "mask" / name)
    save_png(made.clean[k].permute(1, 2, 0).numpy(), out / "shadow_free" / name)
    save_png(made.picture[k].permute(1, 2, 0).numpy(), out / "shadow" / name)


def save_png(pixels: NDArray[np.uint8] | NDArray[np.bool_], path: Path) -> None:
    """Write a PNG, whole or not at all; a mask is written as 0 and 255."""
    save_picture(path, pixels.astype(np.uint8) * 255 if pixels.dtype == np.bool_ else pixels.astype(np.uint8))
