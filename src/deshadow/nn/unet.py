"""The multi-head-attention U-Net that the denoiser and the encoder share (Sec. 3.1 and 3.2)."""

from torch import Tensor, nn
from torch.nn import functional as F

from deshadow.nn.blocks import Attention, Modulation, Norm, Residual, join, zero_init
from deshadow.nn.config import UNetShape
from deshadow.nn.layout import Block, lay_out_unet


class UNet(nn.Module):
    """(B, inputs, H, W) → (B, outputs, H, W), for H and W that are multiples of the shape's stride."""

    def __init__(
        self,
        shape: UNetShape,
        inputs: int,
        outputs: int,
        *,
        embedding: int = 0,
        map_channels: int = 0,
        starts_at_zero: bool = False,
    ) -> None:
        super().__init__()
        self.fold = shape.fold
        area, first = shape.fold**2, shape.channels(0)
        down, middle, up = (
            nn.ModuleList(UNetBlock(block, shape, embedding, map_channels) for block in part)
            for part in lay_out_unet(shape)
        )
        self.stem = nn.Conv2d(inputs * area, first, 3, padding=1)
        self.down, self.middle, self.up = down, middle, up
        self.norm = Norm(first)
        self.out = nn.Conv2d(first, outputs * area, 3, padding=1)
        if starts_at_zero:
            zero_init(self.out)
        self.bypass = zero_init(nn.Conv2d(inputs * area, outputs * area, 1)) if shape.bypass else None

    def forward(self, x: Tensor, modulation: Modulation = Modulation()) -> Tensor:  # noqa: B008 (immutable)
        """Fold, the blocks down with their skips, the middle, the blocks up that join the skips, unfold."""
        folded = F.pixel_unshuffle(x, self.fold)
        h = self.stem(folded)
        skips = [h]
        for block in self.down:
            h = block(h, modulation)
            skips.append(h)
        for block in self.middle:
            h = block(h, modulation)
        for block in self.up:
            h = block(join(h, skips.pop()) if block.joins else h, modulation)
        output = self.out(self.norm(h))
        if self.bypass is not None:
            output = output + self.bypass(folded)
        return F.pixel_shuffle(output, self.fold)


class UNetBlock(nn.Module):
    """A residual block of the layout, followed by attention where the layout says so."""

    def __init__(self, block: Block, shape: UNetShape, embedding: int, map_channels: int) -> None:
        super().__init__()
        self.joins, self.level = block.joins, block.level
        self.residual = Residual(
            block.inputs,
            block.outputs,
            resample=block.resample,
            embedding=embedding,
            map_channels=map_channels,
            dropout=shape.dropout,
        )
        self.attention = Attention(block.outputs, shape.head_channels) if block.attention else None

    def forward(self, x: Tensor, modulation: Modulation) -> Tensor:
        """The residual block, then the attention, if there is any."""
        noise = None if modulation.maps is None else modulation.maps[self.level]
        h: Tensor = self.residual(x, modulation.vector, noise)
        return h if self.attention is None else self.attention(h)
