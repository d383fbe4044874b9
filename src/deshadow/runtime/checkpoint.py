"""Checkpoints: safetensors files that carry their configuration and a digest of their tensors."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as serialise

from deshadow.nn.config import Config, DetectorConfig, ModelConfig, config_from_json, describe_config
from deshadow.runtime.quantise import dequantise, quantise
from deshadow.system.files import write_whole

if TYPE_CHECKING:
    import torch

    from deshadow.nn.detector import ShadowDetector
    from deshadow.nn.lfg import LFGDiffusion

Network = TypeVar("Network", bound="torch.nn.Module")

SUFFIX = ".safetensors"
SHIPPED = Path(__file__).parent.parent / "weights"
PICKLES = (b"PK\x03\x04", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")


class Checkpoint(NamedTuple):
    """What a file holds."""

    config: Config
    tensors: dict[str, NDArray[Any]]
    notes: dict[str, str]
    """Other metadata: the recipe of a release, or the counters of a training run."""


class Place(NamedTuple):
    """Where a tensor lies in its file."""

    dtype: str
    """As safetensors names it: F16, F32, …"""
    shape: tuple[int, ...]
    offset: int
    """In bytes from the beginning of the file."""
    length: int


def save_model(
    path: Path,
    model: "LFGDiffusion | ShadowDetector",
    *,
    half: bool = True,
    notes: Mapping[str, str] = {},
) -> None:
    """Write a model's weights, in half precision or in float32."""
    tensors = {name: tensor.detach().cpu().numpy() for name, tensor in model.state_dict().items()}
    if half:
        tensors = {name: _to_half(name, tensor) for name, tensor in tensors.items()}
    write_checkpoint(path, model.config, tensors, notes)


def compress(path_or_name: str | Path, output: Path, *others: str | Path) -> Path:
    """Write a copy of a checkpoint, or the mean of several of one configuration, with weights of 8 bits."""
    paths = [locate(each) for each in (path_or_name, *others)]
    if output.resolve() in [path.resolve() for path in paths]:
        raise ValueError(f"{output} is the checkpoint itself: name another file")
    if output.suffix != SUFFIX:
        raise ValueError(f"{output} must end in {SUFFIX}")
    first, *rest = (read_checkpoint(path) for path in paths)
    for path, found in zip(paths[1:], rest, strict=True):
        _expect(path, found.config, first.config)
    if not rest:
        write_checkpoint(output, first.config, quantise(first.tensors), first.notes)
        return output
    sets = [dequantise(found.tensors) for found in (first, *rest)]
    means = {name: np.mean([each[name].astype(np.float32) for each in sets], axis=0) for name in sets[0]}
    write_checkpoint(output, first.config, quantise(means))
    return output


def load_remover(path_or_name: str | Path, *, expect: ModelConfig | None = None) -> "LFGDiffusion":
    """The model in a file or in the shipped weights of that name, in float32 on the CPU, ready to use.

    `expect` refuses a checkpoint of another configuration before anything is built.
    """
    from deshadow.nn.lfg import LFGDiffusion

    path = locate(path_or_name)
    found = read_checkpoint(path)
    config = check_remover_config(path, found.config)
    _expect(path, config, expect)
    return _fill(LFGDiffusion(config), path, found.tensors)


def load_detector(path_or_name: str | Path, *, expect: DetectorConfig | None = None) -> "ShadowDetector":
    """As `load_remover`, for a detector."""
    from deshadow.nn.detector import ShadowDetector

    path = locate(path_or_name)
    found = read_checkpoint(path)
    config = check_detector_config(path, found.config)
    _expect(path, config, expect)
    return _fill(ShadowDetector(config), path, found.tensors)


def _expect(path: Path, config: Config, expect: Config | None) -> None:
    if expect is not None and config != expect:
        raise ValueError(explain_mismatch(path, config, expect))


def _fill(model: Network, path: Path, tensors: Mapping[str, NDArray[Any]]) -> Network:
    import torch

    tensors = dequantise(tensors)
    shapes = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    if shapes != {name: tensor.shape for name, tensor in tensors.items()}:
        raise ValueError(
            f"the tensors in {path} are not those of its configuration: it was not written by save_model()"
        )
    model.load_state_dict({name: torch.from_numpy(tensor).float() for name, tensor in tensors.items()})
    return model.eval()


def check_remover_config(path: Path, config: Config) -> ModelConfig:
    """The configuration of a file that must hold a remover."""
    if isinstance(config, DetectorConfig):
        raise ValueError(f"{path} holds a detector, but a remover is needed: name a remover's weights")
    return config


def check_detector_config(path: Path, config: Config) -> DetectorConfig:
    """The configuration of a file that must hold a detector."""
    if isinstance(config, ModelConfig):
        raise ValueError(f"{path} holds a remover, but a detector is needed: name a detector's weights")
    return config


def explain_mismatch(path: Path, config: Config, expect: Config) -> str:
    """The message for a checkpoint of another configuration than the one that was asked for."""
    return (
        f"{path} holds {describe_config(config)}, but {describe_config(expect)} was asked for: "
        "choose another checkpoint or another preset, so that both have one configuration"
    )


def write_checkpoint(
    path: Path, config: Config, tensors: Mapping[str, NDArray[Any]], notes: Mapping[str, str] = {}
) -> None:
    """Write tensors with their configuration; an existing file stays as it is if this fails."""
    tensors = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    metadata = {**notes, "format": "deshadow", "config": config.to_json(), "digest": compute_digest(tensors)}
    write_whole(path, serialise(tensors, metadata))


def read_checkpoint(path: Path) -> Checkpoint:
    """Everything that a checkpoint holds, after its digest was checked."""
    with _open_file(path) as file:  # once: another file may take its place meanwhile
        config, notes = _parse_header(path, file)
        try:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
        except SafetensorError as error:
            raise ValueError(f"{path} is damaged ({error}): download or write it again") from error
    if compute_digest(tensors) != notes.pop("digest", None):
        raise ValueError(
            f"{path} is damaged (its tensors do not match their digest): download or write it again"
        )
    return Checkpoint(config, tensors, notes)


def read_config(path: Path) -> tuple[ModelConfig, dict[str, str]]:
    """The configuration and the notes of a remover's checkpoint, from its header alone."""
    config, notes = read_header(path)
    return check_remover_config(path, config), notes


def read_header(path: Path) -> tuple[Config, dict[str, str]]:
    """The configuration, of a remover or a detector, and the notes of a checkpoint, from its header."""
    with _open_file(path) as file:
        return _parse_header(path, file)


@contextmanager
def _open_file(path: Path) -> Iterator[Any]:
    """An open safetensors file; ValueError says why it cannot be opened."""
    if not path.is_file():
        raise ValueError(f"no checkpoint at {path}: name a {SUFFIX} file")
    try:
        opened = safe_open(path, framework="numpy")
    except (SafetensorError, OSError) as error:
        raise ValueError(_unreadable(path, error)) from error
    with opened as file:
        yield file


def _parse_header(path: Path, file: Any) -> tuple[Config, dict[str, str]]:
    notes = dict(file.metadata() or {})
    if notes.pop("format", None) != "deshadow":
        raise ValueError(
            f"{path} is a safetensors file, but not a checkpoint of deshadow: it has no configuration"
        )
    try:
        return config_from_json(notes.pop("config", "")), notes
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _unreadable(path: Path, error: Exception) -> str:
    with path.open("rb") as raw:
        if raw.read(4).startswith(PICKLES):
            return f"{path} is a pickle, which can run any code when opened: deshadow reads safetensors only"
    return f"{path} is truncated, damaged or no safetensors file ({error}): download or write it again"


def locate_tensors(path: Path) -> dict[str, Place]:
    """The place of each tensor in a checkpoint's file, by name, for graphs that point into it."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
    header.pop("__metadata__", None)
    return {
        name: Place(entry["dtype"], tuple(entry["shape"]), 8 + length + start, end - start)
        for name, entry in header.items()
        for start, end in [entry["data_offsets"]]
    }


def fingerprint(path: Path) -> str:
    """A digest of a checkpoint's file name and of the places of its tensors, which its graphs point to."""
    return hashlib.sha256(json.dumps([path.name, locate_tensors(path)], sort_keys=True).encode()).hexdigest()


def locate(path_or_name: str | Path) -> Path:
    """The file at a path, or that of shipped weights by their name."""
    path = Path(path_or_name)
    if path.suffix == SUFFIX or path.exists():
        return path
    shipped = {file.stem: file for file in sorted(SHIPPED.glob(f"*{SUFFIX}"))}
    if str(path_or_name) not in shipped:
        known = f"the shipped ones are {', '.join(shipped)}" if shipped else "this version ships none"
        raise ValueError(f"no weights {str(path_or_name)!r}: {known}; a path to a {SUFFIX} file works too")
    return shipped[str(path_or_name)]


def compute_digest(tensors: Mapping[str, NDArray[Any]]) -> str:
    """SHA-256 over the names, types, shapes and bytes of tensors; their order does not matter."""
    sha = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name]
        sha.update(f"{name} {tensor.dtype.str} {tensor.shape}\n".encode())
        sha.update(np.ascontiguousarray(tensor).data)
    return sha.hexdigest()


def _to_half(name: str, tensor: NDArray[Any]) -> NDArray[Any]:
    if not np.issubdtype(tensor.dtype, np.floating):
        return tensor
    if not np.all(np.abs(tensor) <= np.finfo(np.float16).max):
        raise ValueError(f"{name} has values that half precision cannot hold: save it with half=False")
    return tensor.astype(np.float16)
