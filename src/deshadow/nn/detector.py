"""The detector of shadows: the backbone of EfficientNet-lite, and the decoder of a U-Net."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from deshadow.nn.blocks import Attention, Norm, Residual, join, resample
from deshadow.nn.config import DetectorConfig
from deshadow.nn.layout import FOLD, Inverted, lay_out_detector


class ShadowDetector(nn.Module):
    """(B, 3, H, W) in [-1, 1] → (B, 1, H, W) logits, for H and W that are multiples of `config.stride`."""

    def __init__(self, config: DetectorConfig) -> None:
        super().__init__()
        self.config = config
        layout = lay_out_detector(config)
        self.stem = SameConv(3, config.stem, 3, stride=2)
        self.down = nn.ModuleList(InvertedResidual(block) for block in layout.down)
        self.bridge = nn.Conv2d(layout.bridge, config.widths[0], 1)
        self.attention = Attention(config.widths[0], config.head_channels)
        self.up = nn.ModuleList(Residual(inputs, outputs) for inputs, outputs in layout.up)
        self.norm = Norm(config.widths[-1])
        self.out = nn.Conv2d(config.widths[-1], FOLD**2, 3, padding=1)

    def forward(self, picture: Tensor) -> Tensor:
        """Above 0 where the picture is more likely to lie in a shadow than not."""
        h: Tensor = F.relu6(self.stem(picture))
        skips = []
        for block in self.down:
            if block.halves:
                skips.append(h)
            h = block(h)
        folded = F.pixel_unshuffle(picture, FOLD)
        skips[0] = join(skips[0], folded.to(h.dtype).contiguous(memory_format=torch.channels_last))
        h = self.attention(self.bridge(h))
        for block in self.up:
            h = block(join(resample(h, "up"), skips.pop()))
        return F.pixel_shuffle(self.out(self.norm(h)), FOLD)

    def probability(self, picture: Tensor) -> Tensor:
        """(B, 1, H, W) in [0, 1]: how likely each pixel is to lie in a shadow."""
        return torch.sigmoid(self(picture).float())


class InvertedResidual(nn.Module):
    """(B, inputs, h, w) → (B, outputs, h', w'): more channels, a depthwise convolution, fewer channels.

    It has no norms: those of EfficientNet-lite are part of the weights (`training.backbone`).
    """

    def __init__(self, block: Inverted) -> None:
        super().__init__()
        self.halves = block.stride == 2
        self.expand = nn.Conv2d(block.inputs, block.hidden, 1) if block.hidden != block.inputs else None
        self.depthwise = SameConv(
            block.hidden, block.hidden, block.kernel, stride=block.stride, groups=block.hidden
        )
        self.project = nn.Conv2d(block.hidden, block.outputs, 1)
        self.adds = not self.halves and block.inputs == block.outputs
        # Without norms, the weights must keep the variance from block to block.
        for conv in (self.expand, self.depthwise):
            if conv is not None:
                nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
        nn.init.kaiming_normal_(self.project.weight, nonlinearity="linear")

    def forward(self, x: Tensor) -> Tensor:
        """The block's output, with x added where both have one shape."""
        h = x if self.expand is None else F.relu6(self.expand(x))
        h = self.project(F.relu6(self.depthwise(h)))
        found: Tensor = x + h if self.adds else h
        return found


class SameConv(nn.Conv2d):
    """A convolution that halves pictures of even sizes as TensorFlow does, or keeps their size."""

    def __init__(self, inputs: int, outputs: int, kernel: int, *, stride: int = 1, groups: int = 1) -> None:
        around = 0 if stride == 2 else kernel // 2
        super().__init__(inputs, outputs, kernel, stride=stride, padding=around, groups=groups)
        self.before, self.after = (kernel - 2) // 2, (kernel - 1) // 2

    def forward(self, x: Tensor) -> Tensor:
        """The convolution; where it halves, one pixel more is padded after the picture than before it."""
        if self.stride == (2, 2):
            x = F.pad(x, (self.before, self.after, self.before, self.after))
        return super().forward(x)
