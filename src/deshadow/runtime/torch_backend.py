"""torch, which runs a model on any device and is what training uses."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, Literal

import torch
from torch import Tensor, nn

from deshadow.diffusion.arrays import Array, FloatArray, check_picture, like, pad_to_multiple
from deshadow.nn.config import ModelConfig
from deshadow.nn.cuda_graphs import Replay
from deshadow.nn.detector import ShadowDetector
from deshadow.nn.lfg import LFGDiffusion
from deshadow.runtime.device import choose_device

Precision = Literal["float32", "bfloat16"]


class TorchBackend:
    """Runs a remover."""

    def __init__(self, model: LFGDiffusion, device: str = "cpu", precision: Precision | None = None) -> None:
        """Moves the model to the device; `precision` is that of `choose_precision` unless it is given."""
        self.device = _move(model, device)
        self.precision = precision or choose_precision(model.config, self.device)
        self.model = model if self.precision == "float32" else _narrow(model)
        self.config = model.config
        self.encoder: Callable[..., Any] = self.model.encode
        self.denoiser: Callable[..., Any] = self.model
        if self.precision == "bfloat16":
            compute_narrow = torch.autocast(torch.device(self.device).type, torch.bfloat16)
            self.encoder, self.denoiser = compute_narrow(self.encoder), compute_narrow(self.denoiser)
        if self.device.startswith("cuda"):
            self.encoder, self.denoiser = Replay(self.encoder), Replay(self.denoiser)

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

    precision: Precision = "float32"

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


def choose_precision(config: ModelConfig, device: str) -> Precision:
    """bfloat16 on a GPU of NVIDIA or AMD that computes in it, else float32.

    A model whose output is divided by √ᾱ_t, as one that predicts noise, stays in float32: √ᾱ_T is 0.006, so
    that the last digits of bfloat16 would show.
    """
    if not device.startswith("cuda") or config.prediction.clips:
        return "float32"
    with torch.cuda.device(device):  # the question is asked of the current device
        return "bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float32"


def _narrow(model: LFGDiffusion) -> LFGDiffusion:
    """A copy with convolutions and linear layers in bfloat16, so that no call has to cast weights."""
    model = deepcopy(model)
    for part in model.modules():
        if isinstance(part, nn.Conv2d | nn.Linear):
            part.bfloat16()
    return model


def _move(model: nn.Module, device: str) -> str:
    """Move a model to a device, channels last, and return the device."""
    device = choose_device(device)
    model.eval().to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]
    return device


def _to_tensor(array: FloatArray | Tensor, device: str) -> Tensor:
    tensor = torch.as_tensor(array, dtype=torch.float32)
    if device.startswith("cuda") and not tensor.is_cuda:  # from pinned memory a GPU copies much faster
        tensor = torch.empty_like(tensor, pin_memory=True).copy_(tensor).to(device, non_blocking=True)
    tensor = tensor.to(device)
    return tensor.contiguous(memory_format=torch.channels_last) if tensor.ndim == 4 else tensor
