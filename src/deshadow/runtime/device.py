"""The choice of a device, for everything that computes with torch."""

import ctypes
import sys
import warnings
from pathlib import Path


def choose_device(device: str = "auto") -> str:
    """The device of torch to compute on; auto is a GPU if there is one, else the processor.

    A device that cannot compute on this machine (unknown, absent, or without numbers, as `meta`) is a
    ValueError. For auto and cpu, torch is not loaded where there is no driver of a GPU.
    """
    if device == "auto":
        return "cuda" if has_gpu() else "cpu"
    if device != "cpu":
        _check(device)
    return device


def has_gpu() -> bool:
    """Whether torch can use a GPU of NVIDIA or AMD."""
    if not _has_driver():  # loading torch takes longer than removing a shadow from a small photo
        return False
    import torch

    return torch.cuda.is_available()


def _check(device: str) -> None:
    import torch

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of devices that torch no longer has
            torch.ones(2, device=device).sum().item()
    except Exception as error:  # each device of torch fails in its own way
        raise ValueError(f"torch cannot compute on the device {device!r} here: choose auto or cpu") from error


def _has_driver() -> bool:
    """Whether the driver of a GPU is installed."""
    if Path("/dev/kfd").exists():  # AMD's
        return True
    try:
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    return True
