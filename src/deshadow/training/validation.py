"""Validation during training: LAB error by region, PSNR, and whether the latent lives."""

from collections import deque
from copy import deepcopy
from typing import NamedTuple

import torch
from torch import Tensor

from deshadow.data.augment import Pairs
from deshadow.data.keyed import Draws
from deshadow.diffusion.arrays import Array
from deshadow.diffusion.sampling import repaint, sample
from deshadow.image.light import lab
from deshadow.nn.lfg import LFGDiffusion
from deshadow.runtime.backends import TorchBackend, condition
from deshadow.training.batches import HELD_OUT, Source, held_out_pairs, network_mask
from deshadow.training.options import Options

CHUNK = 32


class Validation(NamedTuple):
    """The figures of one validation; errors are mean absolute LAB differences summed over the channels."""

    shadow: float
    non_shadow: float
    all: float
    psnr: float
    """Of the whole picture in RGB, averaged over pictures."""
    sharpness: float
    """Gradient energy in the shadow, result to truth: below 1 the result is blurred."""
    latent_deviation: float
    """Spatial standard deviation of the latent before it is standardised: near 0 it has collapsed."""
    latent_worth: float
    """How much the shadow error grows when the latent is replaced by its mean."""


def validation_set(options: Options, source: Source) -> Pairs:
    """(N, …, size, size): the fixed pictures of a run's validations, held-out pairs or synthetic triplets."""
    if options.data is not None:
        return held_out_pairs(options, source.device)
    return Pairs(*source.scenes("sunlight", range(HELD_OUT, HELD_OUT + options.val_count))[:3])


def validate(model: LFGDiffusion, pairs: Pairs, steps: int = 1, seed: int = 0) -> Validation:
    """Remove the shadows of all pairs and compare."""
    model, device = deepcopy(model), str(pairs.picture.device)  # a backend lays its model out anew
    removed = remove(TorchBackend(model, device), pairs, steps, seed)
    shadow, non_shadow, everywhere = errors(removed, pairs)
    deviation = worth = 0.0
    if model.config.guidance == "latent":
        deviation = latent_deviation(model, pairs)
        worth = errors(remove(WithoutLatent(model, device), pairs, steps, seed), pairs)[0] - shadow
    decibels, sharp = psnr(removed, pairs.clean), sharpness(removed, pairs)
    return Validation(shadow, non_shadow, everywhere, decibels, sharp, deviation, worth)


def describe(scores: Validation) -> str:
    """A validation in one line."""
    return (
        f"LAB error {scores.shadow:.2f} in the shadow, {scores.non_shadow:.2f} outside, "
        f"{scores.all:.2f} in all; {scores.psnr:.2f} dB; sharpness {scores.sharpness:.2f}; "
        f"latent deviation {scores.latent_deviation:.3f}, worth {scores.latent_worth:+.2f}"
    )


class WithoutLatent(TorchBackend):
    """A backend whose latent is replaced by its mean, which is 0 since the guide standardises it."""

    def encode(self, picture: Array, mask: Array) -> Array | None:
        """The guidance, without anything that it could say."""
        guidance = super().encode(picture, mask)
        return None if guidance is None else guidance * 0.0


def remove(backend: TorchBackend, pairs: Pairs, steps: int, seed: int) -> Tensor:
    """(N, 3, H, W) of 8 bits: the network's own output, from noise that depends on the picture's number."""
    outputs = []
    for first in range(0, len(pairs.picture), CHUNK):
        picture = pairs.picture[first : first + CHUNK].float() / 127.5 - 1
        mask = network_mask(pairs.mask[first : first + CHUNK])
        numbers = torch.arange(first, first + len(picture), device=picture.device)
        noise = Draws(seed, numbers).normal("validation", *picture.shape[1:])
        denoise, schedule = condition(backend, picture, mask), backend.config.schedule
        if backend.config.unconditional:
            rng = torch.Generator(picture.device).manual_seed(seed + first)
            walk = repaint(denoise, noise, schedule, schedule.times(steps), picture, mask, rng=rng)
            clean = deque(walk, maxlen=1).pop()
        else:
            clean = sample(denoise, noise, schedule, steps=steps)
        outputs.append(((clean + 1) * 127.5).round().clamp(0, 255).to(torch.uint8))
    return torch.cat(outputs)


@torch.no_grad()
def latent_deviation(model: LFGDiffusion, pairs: Pairs) -> float:
    """Mean over pictures of the latent's spatial standard deviation, as the guide's U-Net puts it out."""
    assert model.guide is not None
    picture, mask = pairs.picture[:CHUNK].float() / 127.5 - 1, network_mask(pairs.mask[:CHUNK])
    return float(model.guide.unet(torch.cat([picture, mask], dim=1)).std(dim=(1, 2, 3)).mean())


def errors(removed: Tensor, pairs: Pairs) -> tuple[float, float, float]:
    """LAB errors in the shadow, outside it and everywhere, pooled over the pixels of all pictures."""
    sums = torch.zeros(2, dtype=torch.float64, device=removed.device)
    counts = torch.zeros_like(sums)
    for first in range(0, len(removed), CHUNK):
        part = slice(first, first + CHUNK)
        difference = (lab(removed[part] / 255) - lab(pairs.clean[part] / 255)).abs().sum(dim=1, keepdim=True)
        for region, inside in enumerate((pairs.mask[part], ~pairs.mask[part])):
            sums[region] += (difference * inside).sum()
            counts[region] += inside.sum()
    means = (sums / counts.clamp(min=1)).tolist()
    return means[0], means[1], float(sums.sum() / counts.sum())


def psnr(removed: Tensor, clean: Tensor) -> float:
    """Peak signal-to-noise ratio of 8-bit pictures, averaged over them."""
    squares = (removed.float() - clean.float()).square().mean(dim=(1, 2, 3)).clamp(min=1e-4)
    return float((10 * torch.log10(255**2 / squares)).mean())


def sharpness(removed: Tensor, pairs: Pairs) -> float:
    """Energy of the lightness's gradients in the shadows of all pictures, result to truth; 0 without any."""
    sums = torch.zeros(2, dtype=torch.float64, device=removed.device)
    for first in range(0, len(removed), CHUNK):
        part = slice(first, first + CHUNK)
        inside = pairs.mask[part]
        for which, pictures in enumerate((removed, pairs.clean)):
            lightness = lab(pictures[part] / 255)[:, :1]
            for axis in (2, 3):
                both = inside.unfold(axis, 2, 1).all(dim=-1)
                sums[which] += (lightness.diff(dim=axis).square() * both).sum()
    return float(sums[0] / sums[1]) if sums[1] else 0.0
