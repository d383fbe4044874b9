"""torch, which runs a model on any device and is what training uses."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from deshadow.diffusion.arrays import Array, FloatArray, check_picture, like, pad_to_multiple
from deshadow.nn.cuda_graphs import Replay
from deshadow.nn.detector import ShadowDetector
from deshadow.nn.lfg import LFGDiffusion
from deshadow.runtime.device import choose_device


class TorchBackend:
    """Runs a remover."""

    def __init__(self, model: LFGDiffusion, device: str = "cpu") -> None:
        """Moves the model to the device."""
        self.device = _move(model, device)
        self.model = model
        self.config = model.config
        self.encoder: Callable[..., Any] = model.encode
        self.denoiser: Callable[..., Any] = model
        if self.device.startswith("cuda"):
            self.encoder, self.denoiser = Replay(model.encode), Replay(model)

    def to_device(self, array: Array) -> Any:
        """The array as a float32 tensor in the device's memory."""
        return _to_tensor(array, self.device)

    def encode(self, picture: Array, mask: Array) -> Array | None:
        """The guidance (B, C, H, W), or None where the model has no encoder."""
        if self.config.guidance == "none":
            return None
        with torch.no_grad():
            return like(picture, self.encoder(self.to_device(picture), self.to_device(mask)))

    def predict(self, noisy: Array, t: int, picture: Array, mask: Array, guidance: Array | None) -> Array:
        """The denoiser's output: what `config.predicts` names."""
        with torch.no_grad():
            output = self.denoiser(
                self.to_device(noisy),
                torch.full((len(noisy),), float(t), device=self.device),
                self.to_device(picture),
                self.to_device(mask),
                None if guidance is None else self.to_device(guidance),
            )
        return like(noisy, output)


class TorchDetector:
    """Runs a detector."""

    def __init__(self, model: ShadowDetector, device: str = "cpu") -> None:
        """Moves the model to the device."""
        self.device = _move(model, device)
        self.model, self.config = model, model.config

    def __call__(self, picture: Array) -> Array:
        """The probability, in [0, 1]."""
        check_picture(picture)
        height, width = picture.shape[2:]
        with torch.no_grad():
            padded = _to_tensor(pad_to_multiple(picture, self.config.stride), self.device)
            return like(picture, self.model.probability(padded)[:, :, :height, :width])


def _move(model: nn.Module, device: str) -> str:
    """Move a model to a device, channels last, and return the device."""
    device = choose_device(device)
    model.eval().to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]
    return device


def _to_tensor(array: FloatArray | Tensor, device: str) -> Tensor:
    tensor = torch.as_tensor(array, dtype=torch.float32, device=device)
    return tensor.contiguous(memory_format=torch.channels_last)
