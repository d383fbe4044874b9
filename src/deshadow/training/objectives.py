"""What training minimises: the losses of the paper, each beside its equation, and additions to them."""

from typing import NamedTuple

import torch
from torch import Tensor, distributed, nn
from torch.nn import functional as F

from deshadow.diffusion.prediction import clean_from, diffuse, target
from deshadow.image.colour import srgb_to_lab
from deshadow.nn.lfg import Encoder, LFGDiffusion, invariant_colour
from deshadow.training.options import LossNorm, Objective, PictureLoss
from deshadow.training.spikes import SpikeLoss, watch_finest_blocks

LAB_RANGE = 50.0
"""The difference in LAB that weighs as much as 1 in [-1, 1]: half of the range of L."""

DETAIL = 8
"""Side of the squares in which the strength of detail is compared, in pixels."""


class Batch(NamedTuple):
    """Pictures (B, 3, H, W) in [-1, 1], masks (B, 1, H, W) in [0, 1], noise like the pictures, timesteps."""

    picture: Tensor
    mask: Tensor
    clean: Tensor
    noise: Tensor
    t: Tensor
    """(B,) int64, from 1 to T."""
    hidden: Tensor
    """(B,) bool: whether the denoiser does not see the picture in stage two."""


class Losses(NamedTuple):
    """One number each; `total` is what is minimised."""

    total: Tensor
    denoiser: Tensor
    encoder: Tensor


class Criterion(nn.Module):
    """A model with its objective as one module, which can be compiled and distributed."""

    weights: Tensor
    signal: Tensor
    spread: Tensor

    def __init__(self, model: LFGDiffusion, objective: Objective, frozen: Encoder | None = None) -> None:
        """`frozen` is E*; it is needed where the objective's invariant target is `frozen`."""
        super().__init__()
        self.model, self.objective, self.frozen = model, objective, frozen
        self.picture_error, self.spike_loss = PictureError(objective), SpikeLoss()
        schedule = model.config.schedule
        signal = torch.from_numpy(schedule.alpha_bar).sqrt()
        spread = (1 - signal.square()).sqrt()
        weights = torch.ones_like(signal)
        noise_error = model.config.prediction.noise_error
        if objective.weighting == "p2" and noise_error is not None:
            of_noise = noise_error(signal, spread)
            weights = torch.from_numpy(schedule.p2_weights()) * apply_norm(of_noise, objective.norm)
        self.register_buffer("signal", signal.float())
        self.register_buffer("spread", spread.float())
        self.register_buffer("weights", weights.float())

    def forward(self, batch: Batch, pretraining: bool = False) -> Losses:
        """The losses of one batch."""
        return self.pretraining_loss(batch) if pretraining else self.joint_loss(batch)

    def joint_loss(self, batch: Batch) -> Losses:
        """Eq. 11: the simple loss under the guidance of E(x, m), plus the invariant loss."""
        guidance = self.model.encode(batch.picture, batch.mask)
        seen = batch.picture * ~batch.hidden[:, None, None, None]
        denoiser = self.simple_loss(batch, seen, guidance)
        encoder = self.encoder_loss(batch, guidance)
        return Losses(denoiser + encoder, denoiser, encoder)

    def pretraining_loss(self, batch: Batch) -> Losses:
        """Eq. 12: the simple loss on shadow-free pictures alone, under the guidance of E(y_0, 0).

        Added to it is the share of the latent that is the same in all pictures, if it has a weight.
        """
        guidance = self.model.encode(batch.clean, torch.zeros_like(batch.mask))
        seen = torch.zeros_like(batch.clean) if self.objective.blind else batch.clean
        denoiser = self.simple_loss(batch, seen, guidance)
        encoder = torch.zeros_like(denoiser)
        if self.objective.distinct and guidance is not None and self.model.config.guidance == "latent":
            encoder = self.objective.distinct * measure_common_share(guidance)
        return Losses(denoiser + encoder, denoiser, encoder)

    def simple_loss(self, batch: Batch, picture: Tensor, guidance: Tensor | None) -> Tensor:
        """Eq. 7 with the weights of appendix B, for whatever the network predicts, and the loss on spikes."""
        kind = self.model.config.predicts
        if guidance is not None and self.model.config.guidance != "latent":
            # An estimator learns its own target alone; the denoiser would make a latent of its output.
            guidance = guidance.detach()
        a, s, weights = (
            table[batch.t].view(-1, 1, 1, 1) for table in (self.signal, self.spread, self.weights)
        )
        noisy = diffuse(batch.clean, batch.noise, a, s)
        with watch_finest_blocks(self.model.denoiser, wanted=self.objective.spikes > 0) as features:
            output = self.model(noisy, batch.t, picture, batch.mask, guidance).float()
        if self.model.config.prediction.noise_error is not None:
            error = apply_norm(
                output - target(kind, batch.clean, batch.noise, picture, a, s), self.objective.norm
            )
        else:
            error = self.picture_error(clean_from(kind, output, noisy, picture, a, s), batch.clean)
        loss: Tensor = (weights * error * (1 + self.objective.emphasis * batch.mask)).mean()
        for each in features:
            loss = loss + self.objective.spikes * self.spike_loss(each)
        return loss

    def encoder_loss(self, batch: Batch, guidance: Tensor | None) -> Tensor:
        """What the encoder learns beside the denoiser: Eq. 10 for the latent, its target for an estimator."""
        kind = self.model.config.guidance
        if guidance is None or (kind == "latent" and not self.objective.invariant):
            return batch.clean.new_zeros(())
        if kind == "colour":
            return (guidance.float() - invariant_colour(batch.clean)).abs().mean()
        if kind == "coarse":
            return (guidance.float() - batch.clean).abs().mean()
        encoder = self.frozen if self.objective.invariant_target == "frozen" else self.model.encoder
        assert encoder is not None
        with torch.set_grad_enabled(torch.is_grad_enabled() and self.objective.invariant_target == "joint"):
            clean = encoder(batch.clean, torch.zeros_like(batch.mask))
        loss = invariant_loss(guidance, clean)
        # The scale of E* is left to stage one, so the loss is a share of its variance.
        return self.objective.invariant * (loss / variance(clean) if encoder is self.frozen else loss)


class PictureError(nn.Module):
    """The error of pictures: many small operations, which are worth compiling."""

    def __init__(self, objective: PictureLoss) -> None:
        super().__init__()
        self.objective = objective

    def forward(self, found: Tensor, clean: Tensor) -> Tensor:
        """(B, 3, H, W) in [-1, 1], twice → (B, 3, H, W): the error in RGB, LAB and detail."""
        norm = self.objective.norm
        error = apply_norm(found - clean, norm)
        if self.objective.lab:
            one, other = (srgb_to_lab(((each + 1) / 2).clamp(0, 1)) for each in (found, clean))
            error = error + self.objective.lab * apply_norm((one - other) / LAB_RANGE, norm)
        if self.objective.detail:
            error = error + self.objective.detail * apply_norm(
                detail_strength(found) - detail_strength(clean), norm
            )
        return error


def apply_norm(difference: Tensor, norm: LossNorm) -> Tensor:
    """The absolute or squared difference."""
    return difference.abs() if norm == "l1" else difference.square()


def detail_strength(picture: Tensor) -> Tensor:
    """(B, 3, H, W) → (B, 1, H, W): root mean square of the gradients in each square of DETAIL pixels.

    The pictures of a pair are seldom aligned to the pixel. The result that is closest to the truth on average
    is then blurred; its gradients are too weak, wherever they lie.
    """
    grey = picture.mean(dim=1, keepdim=True)
    across, down = grey.diff(dim=3), grey.diff(dim=2)
    squares = F.pad(across.square(), (0, 1)) + F.pad(down.square(), (0, 0, 0, 1))
    strength = (F.avg_pool2d(squares, DETAIL) + 1e-4).sqrt()
    return F.interpolate(strength, size=picture.shape[-2:])


def invariant_loss(latent: Tensor, clean_latent: Tensor) -> Tensor:
    """Eq. 10: the squared difference between E(x, m) and E(y_0, 0)."""
    return (latent.float() - clean_latent.float()).square().mean()


def measure_common_share(latents: Tensor) -> Tensor:
    """(N, 1, H, W) → variance over the pixels of the mean picture, to the variance over all pixels."""
    wide = latents.float()
    return wide.mean(dim=0).var() / wide.var().clamp(min=1e-12)


def variance(latent: Tensor) -> Tensor:
    """Variance over all pictures and pixels of the batch, the parts of other processes included."""
    wide = latent.float()
    moments = torch.stack([wide.mean(), wide.square().mean()])
    if distributed.is_initialized():
        distributed.all_reduce(moments)
        moments /= distributed.get_world_size()
    return (moments[1] - moments[0].square()).clamp(min=1e-6)
