"""LFG-Diffusion: the denoiser, the encoder that guides it, and Dense Latent Variable Fusion (Sec. 3)."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from deshadow.nn.blocks import Modulation, timestep_embedding
from deshadow.nn.config import NOISE_PATCH, ModelConfig
from deshadow.nn.unet import UNet


class LFGDiffusion(nn.Module):
    """The networks of one configuration; pictures are (B, 3, H, W) in [-1, 1], masks (B, 1, H, W) in [0, 1].

    H and W are multiples of `config.stride`; the backends pad what is not.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        shape, guidance = config.denoiser, config.guidance_channels
        self.encoder = Encoder(config) if guidance else None
        self.time = nn.Sequential(
            nn.Linear(shape.base, shape.embedding), nn.SiLU(), nn.Linear(shape.embedding, shape.embedding)
        )
        self.fusion = _fusion(config)
        self.denoiser = UNet(
            shape,
            3 + sum(config.seen_channels.values()) + guidance,
            config.output_channels,
            embedding=shape.embedding,
            map_channels=shape.base if config.fusion == "map" else 0,
            starts_at_zero=True,
        )

    def encode(self, picture: Tensor, mask: Tensor) -> Tensor | None:
        """(B, C, H, W): the guidance, which is E(x, m) of Eq. 9 for a latent; None without an encoder."""
        if self.encoder is None:
            return None
        guidance: Tensor = self.encoder(picture, mask)
        return guidance

    def forward(
        self,
        noisy: Tensor,
        t: Tensor,
        picture: Tensor | None = None,
        mask: Tensor | None = None,
        guidance: Tensor | None = None,
    ) -> Tensor:
        """What `config.predicts` names, from y_t, the timesteps (B,) and the conditions (Eq. 11).

        Conditions that the configuration does not name in `sees` are ignored.
        """
        vector: Tensor = self.time(timestep_embedding(t, self.config.denoiser.base).to(noisy.dtype))
        maps = None
        if isinstance(self.fusion, NoiseVector):
            vector = vector + self.fusion(noisy)
        elif self.fusion is not None:
            maps = self.fusion(noisy)
        given = {"picture": picture, "mask": mask}
        conditions = [noisy, *(given[name] for name in self.config.seen_channels), guidance]
        inputs = torch.cat([each for each in conditions if each is not None], dim=1)
        output: Tensor = self.denoiser(inputs, Modulation(F.silu(vector), maps))
        return output


class Encoder(nn.Module):
    """(picture, mask) → guidance (B, C, H, W): the latent feature encoder, or an estimator of Tab. 4."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.range = config.latent_range if config.guidance == "latent" else "free"
        self.unet = UNet(config.encoder, 3 + 1, config.guidance_channels)

    def forward(self, picture: Tensor, mask: Tensor) -> Tensor:
        """The guidance."""
        guidance: Tensor = self.unet(torch.cat([picture, mask], dim=1))
        if self.range == "bounded":
            # In a run without a bound the latent had one spike in each picture,
            # beside which the scene was faint.
            return guidance.tanh()
        return standardise(guidance) if self.range == "standardised" else guidance


def standardise(latent: Tensor) -> Tensor:
    """(B, C, H, W) → the same with mean 0 and deviation 1 in each picture."""
    wide = latent.float()
    centred = wide - wide.mean(dim=(1, 2, 3), keepdim=True)
    return (centred * (centred.square().mean(dim=(1, 2, 3), keepdim=True) + 1e-5).rsqrt()).to(latent.dtype)


class NoiseVector(nn.Module):
    """(B, 3, H, W) → (B, width): patches of y_t through a three-layer MLP, pooled to one vector (Eq. 15)."""

    def __init__(self, patch: int, width: int) -> None:
        super().__init__()
        self.patch = patch
        self.mlp = noise_mlp(3 * patch**2, width)

    def forward(self, noisy: Tensor) -> Tensor:
        """The vector that is added to the embedding of the timestep."""
        features: Tensor = self.mlp(F.pixel_unshuffle(noisy, self.patch))
        return features.mean(dim=(2, 3))


class NoiseMaps(nn.Module):
    """(B, 3, H, W) → (B, width, h, w) for each level: y_t through a three-layer MLP, pooled (Eq. 14)."""

    def __init__(self, fold: int, width: int, levels: int) -> None:
        super().__init__()
        self.fold, self.levels = fold, levels
        self.mlp = noise_mlp(3 * fold**2, width)

    def forward(self, noisy: Tensor) -> tuple[Tensor, ...]:
        """The maps, finest first."""
        maps = [self.mlp(F.pixel_unshuffle(noisy, self.fold))]
        for _ in range(self.levels - 1):
            maps.append(F.avg_pool2d(maps[-1], 2))
        return tuple(maps)


def noise_mlp(inputs: int, width: int) -> nn.Sequential:
    """Three fully connected layers, applied at every position."""
    return nn.Sequential(
        nn.Conv2d(inputs, width, 1),
        nn.SiLU(),
        nn.Conv2d(width, width, 1),
        nn.SiLU(),
        nn.Conv2d(width, width, 1),
    )


def invariant_colour(picture: Tensor) -> Tensor:
    """(B, 3, H, W) in [-1, 1] → the same: the colour of each pixel freed of its intensity (Tab. 4 a).

    The estimator of colour guidance learns this from the shadow-free picture. Channels divided by their sum
    do not change under a neutral shadow; averaging leaves only large areas of colour.
    """
    light = (picture + 1) / 2
    light = F.avg_pool2d(F.pad(light, (4, 4, 4, 4), mode="replicate"), 9, stride=1)
    return 2 * (light + 1e-2) / (light + 1e-2).sum(dim=1, keepdim=True) - 1


def _fusion(config: ModelConfig) -> NoiseVector | NoiseMaps | None:
    shape = config.denoiser
    if config.fusion == "vector":
        return NoiseVector(NOISE_PATCH, shape.embedding)
    if config.fusion == "map":
        return NoiseMaps(shape.fold, shape.base, len(shape.multipliers))
    return None
