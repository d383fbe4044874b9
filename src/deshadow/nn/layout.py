"""The networks as data, without torch: their blocks in order, and what they cost. `nn` builds from it."""

from dataclasses import dataclass
from itertools import chain
from typing import Literal, NamedTuple

from deshadow.nn.config import NOISE_PATCH, DetectorConfig, ModelConfig, UNetShape


class Block(NamedTuple):
    """One residual block, followed by attention or not."""

    inputs: int
    outputs: int
    level: int
    """The level of its output, where a picture is `fold * 2**level` times smaller."""
    resample: Literal["no", "down", "up"] = "no"
    attention: bool = False
    joins: bool = False
    """Whether a skip connection from the way down is concatenated to its input."""


class UNetLayout(NamedTuple):
    """The blocks of a U-Net after Dhariwal and Nichol, in the order in which they run."""

    down: tuple[Block, ...]
    middle: tuple[Block, ...]
    up: tuple[Block, ...]


def lay_out_unet(shape: UNetShape) -> UNetLayout:
    """The blocks of a U-Net of this shape."""
    last = len(shape.multipliers) - 1
    channels = shape.channels(0)
    skips = [channels]
    down, up = [], []
    for level in range(last + 1):
        for _ in range(shape.blocks):
            width = shape.channels(level)
            down.append(Block(channels, width, level, attention=level in shape.attention))
            skips.append(channels := width)
        if level < last:
            down.append(Block(channels, channels, level + 1, "down"))
            skips.append(channels)
    middle = (Block(channels, channels, last, attention=True), Block(channels, channels, last))
    for level in reversed(range(last + 1)):
        for _ in range(shape.blocks + 1):
            width, attention = shape.channels(level), level in shape.attention
            up.append(Block(channels + skips.pop(), width, level, attention=attention, joins=True))
            channels = width
        if level > 0:
            up.append(Block(channels, channels, level - 1, "up"))
    return UNetLayout(tuple(down), middle, tuple(up))


@dataclass(frozen=True)
class Cost:
    """Parameters, and floating-point operations of one pass (a multiply-add is two)."""

    parameters: int = 0
    flop: int = 0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.parameters + other.parameters, self.flop + other.flop)


def model_cost(config: ModelConfig, height: int, width: int) -> dict[str, Cost]:
    """What each part of a model costs for a picture of this size: encoder, denoiser, fusion."""
    shape, guidance = config.denoiser, config.guidance_channels
    inputs = 3 + sum(config.seen_channels.values()) + guidance
    parts = {"denoiser": unet_cost(shape, inputs, config.output_channels, shape.embedding, height, width)}
    parts["denoiser"] += _linear(shape.base, shape.embedding, 1) + _linear(
        shape.embedding, shape.embedding, 1
    )
    if guidance:
        parts["encoder"] = unet_cost(config.encoder, 3 + 1, guidance, 0, height, width)
    if config.fusion == "vector":
        parts["fusion"] = _mlp(NOISE_PATCH, shape.embedding, height, width)
    elif config.fusion == "map":
        parts["fusion"] = _mlp(shape.fold, shape.base, height, width)
        for block in chain(*lay_out_unet(shape)):
            scale = shape.fold * 2**block.level
            parts["fusion"] += _linear(shape.base, block.outputs, (height // scale) * (width // scale))
    return parts


FOLD = 2
"""Side of the squares of pixels that a detector folds into channels at its finest level."""


class Inverted(NamedTuple):
    """One inverted residual block of a detector."""

    inputs: int
    hidden: int
    """Channels of its depthwise convolution."""
    outputs: int
    kernel: int
    stride: int


class DetectorLayout(NamedTuple):
    """The blocks of a detector, in the order in which they run."""

    down: tuple[Inverted, ...]
    bridge: int
    """Channels of the coarsest level."""
    up: tuple[tuple[int, int], ...]
    """Inputs, with those of the skip connection, and outputs of each residual block."""


def lay_out_detector(config: DetectorConfig) -> DetectorLayout:
    """The blocks of a detector; the finest skip connection carries the folded picture, too."""
    channels, skips = config.stem, []
    down = []
    for stage in config.stages:
        for number in range(stage.blocks):
            stride = stage.stride if number == 0 else 1
            if stride == 2:
                skips.append(channels)
            hidden = channels * stage.expansion
            down.append(Inverted(channels, hidden, stage.outputs, stage.kernel, stride))
            channels = stage.outputs
    skips[0] += 3 * FOLD**2
    widths = config.widths
    up = tuple(
        (coarse + skip, fine)
        for coarse, skip, fine in zip(widths[:-1], reversed(skips), widths[1:], strict=True)
    )
    return DetectorLayout(tuple(down), channels, up)


def detector_cost(config: DetectorConfig, height: int, width: int) -> Cost:
    """What a detector costs for a picture of this size."""
    layout, finest, pixels = lay_out_detector(config), config.widths[-1], height * width // FOLD**2
    total = _conv3(3, config.stem, pixels) + _norm(finest) + _conv3(finest, FOLD**2, pixels)
    for block in layout.down:
        if block.hidden != block.inputs:
            total += _linear(block.inputs, block.hidden, pixels)
        pixels //= block.stride**2
        area = block.kernel**2
        total += Cost((area + 1) * block.hidden, 2 * area * block.hidden * pixels)
        total += _linear(block.hidden, block.outputs, pixels)
    total += _linear(layout.bridge, config.widths[0], pixels) + attention_cost(config.widths[0], pixels)
    for inputs, outputs in layout.up:
        pixels *= 4
        total += block_cost(Block(inputs, outputs, level=0), 0, pixels)
    return total


def unet_cost(shape: UNetShape, inputs: int, outputs: int, embedding: int, height: int, width: int) -> Cost:
    """The U-Net alone, its blocks modulated by a vector of length `embedding` (0: by none)."""
    pixels = (height // shape.fold) * (width // shape.fold)
    first, area = shape.channels(0), shape.fold**2
    total = _conv3(inputs * area, first, pixels) + _norm(first) + _conv3(first, outputs * area, pixels)
    if shape.bypass:
        total += _linear(inputs * area, outputs * area, pixels)
    for block in chain(*lay_out_unet(shape)):
        total += block_cost(block, embedding, pixels // 4**block.level)
    return total


def block_cost(block: Block, embedding: int, pixels: int) -> Cost:
    """One block with `pixels` positions at its output."""
    inputs, outputs = block.inputs, block.outputs
    cost = _norm(inputs) + _conv3(inputs, outputs, pixels) + _norm(outputs) + _conv3(outputs, outputs, pixels)
    if embedding:
        cost += _linear(embedding, 2 * outputs, 1)
    if inputs != outputs:
        cost += _linear(inputs, outputs, pixels)
    if block.attention:
        cost += attention_cost(outputs, pixels)
    return cost


def attention_cost(channels: int, pixels: int) -> Cost:
    """Attention among `pixels` positions."""
    layers = _norm(channels) + _linear(channels, 3 * channels, pixels) + _linear(channels, channels, pixels)
    return layers + Cost(flop=4 * channels * pixels**2)


def _mlp(patch: int, width: int, height: int, picture_width: int) -> Cost:
    pixels = (height // patch) * (picture_width // patch)
    return (
        _linear(3 * patch**2, width, pixels) + _linear(width, width, pixels) + _linear(width, width, pixels)
    )


def _linear(inputs: int, outputs: int, pixels: int) -> Cost:
    return Cost((inputs + 1) * outputs, 2 * inputs * outputs * pixels)


def _conv3(inputs: int, outputs: int, pixels: int) -> Cost:
    return Cost((9 * inputs + 1) * outputs, 18 * inputs * outputs * pixels)


def _norm(channels: int) -> Cost:
    return Cost(2 * channels)
