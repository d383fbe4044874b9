"""The runtimes that run a model: onnxruntime, which needs no torch, and torch, which can use a GPU.

A backend runs the two networks. `condition` makes of it a denoiser for one picture: a callable
(y_t, t) → clean picture, which is all that a sampler knows. A detector is a callable picture → probability.
"""

import ctypes
import hashlib
import json
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from deshadow.diffusion.arrays import (
    Array,
    FloatArray,
    check_pair,
    check_picture,
    like,
    pad_to_multiple,
    to_numpy,
)
from deshadow.diffusion.prediction import picture_from
from deshadow.nn.config import Config, DetectorConfig, ModelConfig
from deshadow.runtime.checkpoint import (
    detector_config,
    load,
    load_detector,
    locate,
    places,
    read,
    read_header,
    remover_config,
)

if TYPE_CHECKING:
    import torch

    from deshadow.nn.detector import ShadowDetector
    from deshadow.nn.lfg import LFGDiffusion


class Backend(Protocol):
    """Runs the networks of one model on pictures whose height and width are multiples of its stride.

    It takes numpy arrays as well as tensors, and gives back what it was given.
    """

    config: ModelConfig

    def held(self, array: Array) -> Any:
        """The array where the networks run, for all the calls that it goes into."""
        ...

    def encode(self, picture: Array, mask: Array) -> Array | None:
        """The guidance, or None where the model has none."""
        ...

    def predict(self, noisy: Array, t: int, picture: Array, mask: Array, guidance: Array | None) -> Array:
        """The denoiser's own output: what `config.predicts` names."""
        ...


def condition(
    backend: Backend, picture: Array, mask: Array, guidance: Array | None = None
) -> Callable[[Array, int], Array]:
    """The denoiser for a picture (B, 3, H, W) in [-1, 1] and a mask (B, 1, H, W) in [0, 1], any H and W.

    The encoder runs once, here, unless the guidance (B, C, H, W) is given. Sizes that the network cannot
    take are padded by repeating the edge.
    """
    check_pair(picture, mask)
    config, (height, width) = backend.config, picture.shape[2:]
    padded, padded_mask = (backend.held(pad_to_multiple(each, config.stride)) for each in (picture, mask))
    if guidance is None:
        guidance = backend.encode(padded, padded_mask)
    else:
        guidance = pad_to_multiple(guidance, config.stride)

    def denoise(noisy: Array, t: int) -> Array:
        if noisy.shape != picture.shape:
            raise ValueError(f"y_t is {tuple(noisy.shape)}, but the picture is {tuple(picture.shape)}")
        output = backend.predict(pad_to_multiple(noisy, config.stride), t, padded, padded_mask, guidance)
        a, s = config.schedule.level(t)
        cut: Array = output[:, :, :height, :width]
        return picture_from(config.predicts, cut, noisy, picture, a, s)

    return denoise


def open_backend(path_or_name: str | Path, device: str = "auto", threads: int = 0) -> Backend:
    """The best runtime for a checkpoint: torch on a GPU, else onnxruntime if it has graphs, else torch.

    `device` is auto, cpu, or any device of torch (cuda, cuda:1, mps); `threads` is of onnxruntime, 0 takes
    every core.
    """
    path = locate(path_or_name)
    config = remover_config(path, read_header(path)[0])
    chosen = _runtime(path, config, device)
    return OnnxBackend(path, threads) if chosen == "onnxruntime" else TorchBackend(load(path), chosen)


def open_detector(path_or_name: str | Path, device: str = "auto", threads: int = 0) -> "Detector":
    """The detector of a checkpoint, on the best runtime, chosen as by `open_backend`.

    `threads` of onnxruntime; 0 takes every core.
    """
    path = locate(path_or_name)
    config = detector_config(path, read_header(path)[0])
    chosen = _runtime(path, config, device)
    if chosen == "onnxruntime":
        return OnnxDetector(path, threads)
    return TorchDetector(load_detector(path), chosen)


def _runtime(path: Path, config: Config, device: str) -> str:
    """onnxruntime, or the device of torch that a checkpoint is to run on."""
    has_torch = find_spec("torch") is not None
    if device == "auto":
        device = _best_device() if has_torch else "cpu"
    if device == "cpu" and all(graph.exists() for graph in graphs(path, config).values()):
        return "onnxruntime"
    if has_torch:
        return device
    if device != "cpu":
        raise ValueError(f"the device {device} needs torch, which is not installed: use the device cpu")
    raise ValueError(
        f"torch is not installed, and {path} has no graphs beside it for onnxruntime: "
        f"pip install 'deshadow[export]', then deshadow export {path}"
    )


class OnnxBackend:
    """Runs the graphs that `deshadow export` wrote beside a checkpoint; both read the same weights file."""

    def __init__(self, path_or_name: str | Path, threads: int = 0) -> None:
        """`threads` 0 takes every core."""
        path = locate(path_or_name)
        self.config = remover_config(path, read(path).config)
        self.sessions = _sessions(path, self.config, threads)

    def held(self, array: Array) -> Any:
        """The array where the networks run, for all the calls that it goes into."""
        return to_numpy(array)

    def encode(self, picture: Array, mask: Array) -> Array | None:
        """The guidance, or None where the model has none."""
        if "encoder" not in self.sessions:
            return None
        return self._run("encoder", picture, picture=picture, mask=mask)

    def predict(self, noisy: Array, t: int, picture: Array, mask: Array, guidance: Array | None) -> Array:
        """The denoiser's own output: what `config.predicts` names."""
        given = {"picture": picture, "mask": mask}
        inputs: dict[str, Any] = {name: given[name] for name in self.config.seen_channels}
        if guidance is not None:
            inputs["guidance"] = guidance
        return self._run("denoiser", noisy, noisy=noisy, t=np.full(len(noisy), t), **inputs)

    def _run(self, graph: str, pattern: Array, **inputs: Any) -> Array:
        feeds = {name: to_numpy(array) for name, array in inputs.items()}
        return like(pattern, _run(self.sessions[graph], feeds))


class TorchBackend:
    """Runs a model in torch, on any device."""

    def __init__(self, model: "LFGDiffusion", device: str = "cpu") -> None:
        _send(model, device)
        self.model = model
        self.config = model.config
        self.device = device
        self.encoder: Callable[..., Any] = model.encode
        self.denoiser: Callable[..., Any] = model
        if device.startswith("cuda"):
            from deshadow.nn.cuda_graphs import Replay

            self.encoder, self.denoiser = Replay(model.encode), Replay(model)

    def held(self, array: Array) -> Any:
        """The array where the networks run, for all the calls that it goes into."""
        return self._tensor(array)

    def encode(self, picture: Array, mask: Array) -> Array | None:
        """The guidance, or None where the model has none."""
        import torch

        if self.config.guidance == "none":
            return None
        with torch.no_grad():
            return like(picture, self.encoder(self._tensor(picture), self._tensor(mask)))

    def predict(self, noisy: Array, t: int, picture: Array, mask: Array, guidance: Array | None) -> Array:
        """The denoiser's own output: what `config.predicts` names."""
        import torch

        with torch.no_grad():
            output = self.denoiser(
                self._tensor(noisy),
                torch.full((len(noisy),), float(t), device=self.device),
                self._tensor(picture),
                self._tensor(mask),
                None if guidance is None else self._tensor(guidance),
            )
        return like(noisy, output)

    def _tensor(self, array: "FloatArray | torch.Tensor") -> "torch.Tensor":
        return _tensor(array, self.device)


class Detector(Protocol):
    """(B, 3, H, W) in [-1, 1], any H and W → (B, 1, H, W): how likely each pixel is to lie in a shadow.

    It takes numpy arrays as well as tensors, and gives back what it was given.
    """

    config: DetectorConfig

    def __call__(self, picture: Array) -> Array:
        """The probability, in [0, 1]."""
        ...


class OnnxDetector:
    """Runs the graph that `deshadow export` wrote beside a detector's checkpoint."""

    def __init__(self, path_or_name: str | Path, threads: int = 0) -> None:
        """`threads` 0 takes every core."""
        path = locate(path_or_name)
        self.config = detector_config(path, read(path).config)
        (self.session,) = _sessions(path, self.config, threads).values()

    def __call__(self, picture: Array) -> Array:
        """The probability, in [0, 1]."""
        check_picture(picture)
        height, width = picture.shape[2:]
        padded = to_numpy(pad_to_multiple(picture, self.config.stride))
        return like(picture, _run(self.session, {"picture": padded})[:, :, :height, :width])


class TorchDetector:
    """Runs a detector in torch, on any device."""

    def __init__(self, model: "ShadowDetector", device: str = "cpu") -> None:
        _send(model, device)
        self.model, self.config, self.device = model, model.config, device

    def __call__(self, picture: Array) -> Array:
        """The probability, in [0, 1]."""
        import torch

        check_picture(picture)
        height, width = picture.shape[2:]
        with torch.no_grad():
            padded = _tensor(pad_to_multiple(picture, self.config.stride), self.device)
            return like(picture, self.model.probability(padded)[:, :, :height, :width])


def graphs(path: Path, config: Config) -> dict[str, Path]:
    """The graphs that belong beside a checkpoint."""
    if isinstance(config, DetectorConfig):
        return {"detector": path.with_suffix(".onnx")}
    names = ("denoiser",) if config.guidance == "none" else ("encoder", "denoiser")
    return {name: path.with_suffix(f".{name}.onnx") for name in names}


def fingerprint(path: Path) -> str:
    """Names a checkpoint's file and the places of its tensors: the graphs made for it work with no other."""
    return hashlib.sha256(json.dumps([path.name, places(path)], sort_keys=True).encode()).hexdigest()


def _run(session: Any, feeds: dict[str, NDArray[np.float32]]) -> NDArray[np.float32]:
    """What a graph gives; the memory that it worked in is handed back, which costs no time to speak of."""
    import onnxruntime

    options = onnxruntime.RunOptions()
    options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
    result: NDArray[np.float32] = session.run(None, feeds, options)[0]
    return result


def _sessions(path: Path, config: Config, threads: int) -> dict[str, Any]:
    """The graphs of a checkpoint, ready to run; ValueError says what is wrong with one."""
    # From 1.31 on it reports its use to its makers from the moment it is imported, unless told not to.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3  # errors alone: it warns of every constant that it leaves unfolded

    def opened(graph: Path) -> Any:
        if not graph.exists():
            raise ValueError(f"{graph} is missing: run deshadow export {path}")
        try:
            session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
            fits = session.get_modelmeta().custom_metadata_map.get("fingerprint") == fingerprint(path)
        except Exception as error:  # onnxruntime's errors have no common base of their own
            raise ValueError(f"{graph} cannot be run ({error}): run deshadow export {path}") from error
        if not fits:
            raise ValueError(f"{graph} was made for another checkpoint: run deshadow export {path}")
        return session

    named = graphs(path, config)
    with ThreadPoolExecutor() as pool:  # opening is work for one core each
        return dict(zip(named, pool.map(opened, named.values()), strict=True))


def _send(model: "torch.nn.Module", device: str) -> None:
    """Lay a model out for a device, and send it there."""
    import torch

    try:
        model.eval().to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]
    except (RuntimeError, AssertionError) as error:  # torch asserts that it was built for the device
        raise ValueError(f"torch cannot use the device {device!r} here: {error}") from error


def _tensor(array: "FloatArray | torch.Tensor", device: str) -> "torch.Tensor":
    import torch

    tensor = torch.as_tensor(array, dtype=torch.float32, device=device)
    return tensor.contiguous(memory_format=torch.channels_last)


def _best_device() -> str:
    if not _has_driver():
        return "cpu"
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def _has_driver() -> bool:
    """Whether a GPU's driver is there; asking torch would load it, which takes longer than a small photo."""
    if Path("/dev/kfd").exists():  # AMD's
        return True
    try:
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    return True
