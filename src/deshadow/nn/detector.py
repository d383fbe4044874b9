"""The detector of shadows: the U-Net that the denoiser and the encoder share, small, on the picture alone."""

import torch
from torch import Tensor, nn

from deshadow.nn.config import DetectorConfig
from deshadow.nn.unet import UNet


class ShadowDetector(nn.Module):
    """(B, 3, H, W) in [-1, 1] → (B, 1, H, W) logits, for H and W that are multiples of `config.stride`."""

    def __init__(self, config: DetectorConfig) -> None:
        super().__init__()
        self.config = config
        self.unet = UNet(config.unet, 3, 1)

    def forward(self, picture: Tensor) -> Tensor:
        """Above 0 where the picture is more likely to lie in a shadow than not."""
        logits: Tensor = self.unet(picture)
        return logits

    def probability(self, picture: Tensor) -> Tensor:
        """(B, 1, H, W) in [0, 1]: how likely each pixel is to lie in a shadow."""
        return torch.sigmoid(self(picture).float())
