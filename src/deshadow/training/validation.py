"""Validation during training: LAB error by region, PSNR, and what the latent is worth."""

from collections import deque
from copy import deepcopy
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from deshadow.data.augment import Pairs
from deshadow.data.rng import Draws
from deshadow.diffusion.anchor import Anchor
from deshadow.diffusion.choices import AnchorKind
from deshadow.diffusion.sampling import repaint, sample
from deshadow.image.colour import srgb_to_lab
from deshadow.metrics.scores import gradient_energy, lab_sums, psnr
from deshadow.nn.lfg import Encoder, LFGDiffusion
from deshadow.runtime.backend import condition
from deshadow.runtime.torch_backend import TorchBackend
from deshadow.training.batches import HELD_OUT, Source, dilate_masks, load_held_out_pairs
from deshadow.training.objectives import measure_common_share
from deshadow.training.options import AugmentationOptions, TrainingOptions

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
    latent_worth: float
    """How much the shadow error grows when the latent is that of another picture."""
    latent_common: float
    """Share of the latent's variance that is common to all pictures: at 1 it is a fixed pattern."""
    latent_gap: float
    """Mean squared difference between E(x, m) and E*(y_0, 0), as a share of the variance of E*."""
    latent_gap_shadow: float
    """The same over the pixels in the shadow alone."""


LATENT_FIGURES = ("latent_worth", "latent_common", "latent_gap", "latent_gap_shadow")


def make_validation_set(options: TrainingOptions, source: Source) -> Pairs:
    """(N, …, size, size): the fixed pictures of a run's validations, held-out pairs or synthetic triplets.

    Runs with the same data have the same pictures, whatever their augmentation and their seed.
    """
    count = options.validation.val_count
    if options.inputs.data is not None:
        return load_held_out_pairs(options.inputs, count, source.device)
    plain = source.for_run(replace(source.options, augmentation=AugmentationOptions(), seed=0))
    return Pairs(*plain.scenes("sunlight", range(HELD_OUT, HELD_OUT + count))[:3])


def validate(
    model: LFGDiffusion,
    pairs: Pairs,
    steps: int = 1,
    seed: int = 0,
    frozen: Encoder | None = None,
    anchor: AnchorKind = "none",
) -> Validation:
    """Remove the shadows of all pairs and compare; `frozen` is E*, if there is one."""
    # A search for the fastest kernels takes longer than it saves.
    with torch.backends.cudnn.flags(enabled=True, benchmark=False):
        return score_backend(open_unrecorded(model, pairs), pairs, steps, seed, frozen, anchor)


def open_unrecorded(model: LFGDiffusion, pairs: Pairs) -> TorchBackend:
    """A backend for a copy of the model, where the pairs lie, that records no CUDA graphs.

    A validation calls the networks a few times; to record them for that takes longer than the calls.
    """
    backend = TorchBackend(deepcopy(model), str(pairs.picture.device), "float32")
    backend.encoder, backend.denoiser = backend.model.encode, backend.model
    return backend


def score_backend(
    backend: TorchBackend,
    pairs: Pairs,
    steps: int,
    seed: int,
    frozen: Encoder | None,
    anchor: AnchorKind = "none",
) -> Validation:
    """The figures of a model on pairs."""
    removed = remove_shadows(backend, pairs, steps, seed, anchor=anchor)
    shadow, non_shadow, everywhere = measure_errors(removed, pairs)
    worth = common = gap = gap_shadow = 0.0
    if backend.config.guidance == "latent":
        latents = encode_pairs(backend, pairs)
        others = remove_shadows(backend, pairs, steps, seed, swap_latents(latents), anchor)
        worth = measure_errors(others, pairs)[0] - shadow
        common = float(measure_common_share(latents))
        if frozen is not None:
            gap, gap_shadow = measure_gaps(latents, encode_clean(frozen, pairs), pairs.mask)
    decibels, sharp = mean_psnr(removed, pairs.clean), measure_sharpness(removed, pairs)
    return Validation(shadow, non_shadow, everywhere, decibels, sharp, worth, common, gap, gap_shadow)


def describe_validation(scores: Validation) -> str:
    """A validation in one line."""
    return (
        f"LAB error {scores.shadow:.2f} in the shadow, {scores.non_shadow:.2f} outside, "
        f"{scores.all:.2f} in all; {scores.psnr:.2f} dB; sharpness {scores.sharpness:.2f}; "
        f"latent worth {scores.latent_worth:+.2f}, common {scores.latent_common:.2f}, "
        f"gap {scores.latent_gap:.2f}, in the shadow {scores.latent_gap_shadow:.2f}"
    )


def remove_shadows(
    backend: TorchBackend,
    pairs: Pairs,
    steps: int,
    seed: int,
    guidance: Tensor | None = None,
    anchor: AnchorKind = "none",
) -> Tensor:
    """(N, 3, H, W) of 8 bits: the network's own output, from noise that depends on the picture's number.

    The guidance (N, C, H, W) comes from the encoder unless given. An unconditional model inpaints as RePaint
    does, which keeps the lit pixels in its own way, whatever the anchor.
    """
    outputs = []
    for first in range(0, len(pairs.picture), CHUNK):
        picture = pairs.picture[first : first + CHUNK].float() / 127.5 - 1
        mask = dilate_masks(pairs.mask[first : first + CHUNK])
        numbers = torch.arange(first, first + len(picture), device=picture.device)
        noise = Draws(seed, numbers).normal("validation", *picture.shape[1:])
        given = None if guidance is None else guidance[first : first + CHUNK]
        denoise, schedule = condition(backend, picture, mask, given), backend.config.schedule
        if backend.config.unconditional:
            rngs = [
                torch.Generator(picture.device).manual_seed((seed << 32) + number)
                for number in numbers.tolist()
            ]
            walk = repaint(denoise, noise, schedule, schedule.times(steps), picture, mask, rng=rngs)
            clean = deque(walk, maxlen=1).pop()
        else:
            clean = sample(denoise, noise, schedule, steps=steps, anchor=Anchor(anchor, picture, mask))
        outputs.append(((clean + 1) * 127.5).round().clamp(0, 255).to(torch.uint8))
    return torch.cat(outputs)


def encode_pairs(backend: TorchBackend, pairs: Pairs) -> Tensor:
    """(N, 1, H, W): the latent E(x, m) of every pair."""
    latents = []
    for first in range(0, len(pairs.picture), CHUNK):
        part = slice(first, first + CHUNK)
        latents.append(
            backend.encode(pairs.picture[part].float() / 127.5 - 1, dilate_masks(pairs.mask[part]))
        )
    return torch.cat([latent for latent in latents if latent is not None])


@torch.no_grad()
def encode_clean(frozen: Encoder, pairs: Pairs) -> Tensor:
    """(N, 1, H, W): E*(y_0, 0) of every pair."""
    latents = []
    for first in range(0, len(pairs.clean), CHUNK):
        clean = pairs.clean[first : first + CHUNK].float() / 127.5 - 1
        latents.append(frozen(clean, torch.zeros_like(clean[:, :1])))
    return torch.cat(latents)


def swap_latents(latents: Tensor) -> Tensor:
    """(N, …) → the same latents, each given to the picture half the set away, which is of another scene."""
    return latents.roll(len(latents) // 2, dims=0)


def measure_gaps(latents: Tensor, clean: Tensor, mask: Tensor) -> tuple[float, float]:
    """Mean squared difference of (N, 1, H, W), to the variance of `clean`: everywhere, and under the mask."""
    squares = (latents - clean).square()
    everywhere, inside = squares.mean(), (squares * mask).sum() / mask.sum().clamp(min=1)
    return tuple((torch.stack([everywhere, inside]) / clean.var().clamp(min=1e-12)).tolist())


def measure_errors(removed: Tensor, pairs: Pairs) -> tuple[float, float, float]:
    """LAB errors in the shadow, outside it and everywhere, pooled over the pixels of all pictures."""
    sums, counts = [0.0, 0.0], [0, 0]
    for first in range(0, len(removed), CHUNK):
        part = slice(first, first + CHUNK)
        difference, inside = (
            srgb_to_lab(removed[part] / 255) - srgb_to_lab(pairs.clean[part] / 255),
            pairs.mask[part, 0],
        )
        for region, chosen in enumerate((inside, ~inside)):
            sums[region] += lab_sums(difference.movedim(1, -1), chosen)[0]
            counts[region] += int(chosen.sum())
    shadow, non_shadow = (total / max(count, 1) for total, count in zip(sums, counts, strict=True))
    return shadow, non_shadow, sum(sums) / sum(counts)


def mean_psnr(removed: Tensor, clean: Tensor) -> float:
    """(N, 3, H, W) of 8 bits → peak signal-to-noise ratio, averaged over the pictures."""
    squares = (removed.int() - clean.int()).square().sum(dim=(1, 2, 3)).tolist()
    return sum(psnr(each, clean[0].numel()) for each in squares) / len(squares)


def measure_sharpness(removed: Tensor, pairs: Pairs) -> float:
    """Energy of the lightness's gradients in the shadows of all pictures, result to truth; 0 without any."""
    result = truth = 0.0
    for first in range(0, len(removed), CHUNK):
        part = slice(first, first + CHUNK)
        one, other = (srgb_to_lab(pictures[part] / 255)[:, 0] for pictures in (removed, pairs.clean))
        energy = gradient_energy(one, other, pairs.mask[part, 0])
        result, truth = result + energy.result, truth + energy.truth
    return result / truth if truth else 0.0
