"""`deshadow doctor`: reports what is installed, what is missing, and how fast the networks run."""

import platform
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from deshadow import __version__
from deshadow.cli.parameters import ChosenRuntime, DetectorWeights, Device, Weights
from deshadow.runtime.choice import Runtime
from deshadow.system.extras import install_command

if TYPE_CHECKING:
    from rich.table import Table

    from deshadow.runtime.backend import Backend, Detector

_BASE = ("numpy", "pillow", "onnxruntime", "safetensors", "cyclopts", "rich")
_EXTRAS = {
    "train": {"torch": "torch", "matplotlib": "matplotlib"},
    "export": {"torch": "torch", "onnx": "onnx", "onnxscript": "onnxscript"},
    "web": {
        "fastapi": "fastapi",
        "uvicorn": "uvicorn",
        "python-multipart": "python_multipart",
        "prometheus-client": "prometheus_client",
    },
    "heif": {"pillow-heif": "pillow_heif"},
    "raw": {"rawpy": "rawpy"},
    "openvino": {"openvino": "openvino"},
    "cluster": {"ray": "ray", "pyarrow": "pyarrow", "fsspec": "fsspec"},
}
"""The packages of each extra, and the modules that they install."""
_SIDE, _TRIALS = 256, 3

Rows = Iterator[tuple[str, str]]


def doctor(
    *,
    weights: Weights = "light",
    detector: DetectorWeights = "detector",
    device: Device = "auto",
    runtime: ChosenRuntime = "auto",
) -> None:
    """Report what is installed, how to install what is missing, and how fast the networks run here."""
    from rich.console import Console

    console = Console(soft_wrap=True)
    for part in examine(weights, detector, device, runtime):
        console.print(part, highlight=False)


def examine(
    weights: str = "light", detector: str = "detector", device: str = "auto", runtime: Runtime = "auto"
) -> Iterator["Table"]:
    """Tables for the terminal; each is yielded as soon as it is known."""
    yield _table("Installed", _installed())
    yield _table("Photos", _formats())
    yield _table("Shipped weights", _shipped())
    yield _table("Running", _running(weights, detector, device, runtime))


def _table(title: str, rows: Rows) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", title_style="bold", show_header=False, box=None)
    table.add_column(no_wrap=True)
    table.add_column()
    for name, state in rows:
        table.add_row(name, Text(state))
    return table


def _installed() -> Rows:
    yield "deshadow", f"{__version__} on Python {platform.python_version()}, {platform.system()}"
    yield "base", ", ".join(f"{name} {_version(name)}" for name in _BASE)
    for extra, packages in _EXTRAS.items():
        missing = [name for name, module in packages.items() if find_spec(module) is None]
        there = ", ".join(f"{name} {_version(name)}" for name in packages)
        yield extra, f"without {', '.join(missing)}: {install_command(extra)}" if missing else there


def _formats() -> Rows:
    from PIL import features

    from deshadow.photo.formats import FORMATS

    for name, kind in FORMATS.items():
        state = "read and written" + (", 16 bits too" if kind.deep else "")
        if name == "HEIF" and find_spec("pillow_heif") is None:
            state = f"not read: {install_command('heif')}"
        if name in ("AVIF", "WEBP") and not features.check(name.lower()):
            state = "not in this build of Pillow: pip install --upgrade pillow"
        yield name, state
    yield "GIF", "first frame read, written as PNG"
    raw = find_spec("rawpy") is not None
    yield "camera raw", "read, written as 16-bit TIFF" if raw else f"not read: {install_command('raw')}"


def _shipped() -> Rows:
    from deshadow.runtime.checkpoint import SHIPPED, SUFFIX

    files = sorted(SHIPPED.glob(f"*{SUFFIX}"))
    if not files:
        yield "none", f"give {SUFFIX} files of your own: --weights FILE --detector FILE"
    for file in files:
        yield file.stem, _check_weights(file)


def _running(weights: str, detector: str, device: str, runtime: Runtime) -> Rows:
    import numpy as np

    from deshadow.runtime.backend import condition
    from deshadow.runtime.open import open_backend, open_detector

    yield "devices", _devices()
    picture = np.zeros((1, 3, _SIDE, _SIDE), np.float32)
    try:
        backend = open_backend(weights, device, runtime=runtime)
        last = backend.config.schedule.times(1)[0]
        pace = _pace(lambda: condition(backend, picture, picture[:, :1])(picture, last))
        yield "removal", f"{weights} by {_runtime(backend)}, a pass at {_SIDE}×{_SIDE} in {pace}"
    except ValueError as error:
        yield "removal", f"cannot run: {error}"
    try:
        found = open_detector(detector, device, runtime=runtime)
        pace = _pace(lambda: found(picture))
        yield "detection", f"{detector} by {_runtime(found)}, a pass at {_SIDE}×{_SIDE} in {pace}"
    except ValueError as error:
        yield "detection", f"cannot run: {error}"
    yield "cache", _cache()


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "(unknown version)"


def _check_weights(file: Path) -> str:
    from deshadow.runtime.checkpoint import read_checkpoint

    try:
        tensors = read_checkpoint(file).tensors
    except ValueError as error:
        return str(error)
    count = sum(tensor.size for tensor in tensors.values())
    return f"intact, {count / 1e6:.1f} M parameters, {file.stat().st_size / 2**20:.1f} MiB"


def _devices() -> str:
    if find_spec("torch") is None:
        return f"cpu; a GPU needs torch: {install_command('train')}"
    import torch

    names = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    return ", ".join(["cpu", *(f"cuda:{index} ({name})" for index, name in enumerate(names))])


def _cache() -> str:
    """Where compiled networks are kept, and how large that is."""
    from deshadow.system.cache import VARIABLE, find_cache_folder, measure_cache

    folder = find_cache_folder()
    if folder is None:
        return "none: OpenVINO compiles the networks each time"
    return f"{measure_cache() / 2**20:.1f} MiB in {folder}; {VARIABLE}=off switches it off"


def _runtime(network: "Backend | Detector") -> str:
    """The runtime of a network, its precision and its device."""
    from deshadow.runtime.onnx_backend import OnnxBackend, OnnxDetector

    if isinstance(network, OnnxBackend | OnnxDetector):
        return f"{network.runtime} in {network.precision} on {network.device}"
    from deshadow.runtime.torch_backend import TorchBackend, TorchDetector

    assert isinstance(network, TorchBackend | TorchDetector)
    return f"torch in {network.precision} on {network.device}"


def _pace(one_pass: Callable[[], object]) -> str:
    """The shortest time of a few passes, after one to warm up."""
    seconds = []
    for _ in range(1 + _TRIALS):
        began = time.perf_counter()
        one_pass()
        seconds.append(time.perf_counter() - began)
    return f"{1000 * min(seconds[1:]):.0f} ms"
