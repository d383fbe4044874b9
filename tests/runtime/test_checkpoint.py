import pickle
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from random_models import SMALL, random_model
from safetensors.numpy import save_file

from deshadow.nn.config import ModelConfig, find_preset
from deshadow.runtime import checkpoint

CONFIG = ModelConfig(SMALL, SMALL, fusion="map", predicts="v")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "small.safetensors"
    checkpoint.save_model(path, random_model(CONFIG), half=False)
    return path


def test_a_model_comes_back_as_it_was(path: Path) -> None:
    saved, loaded = random_model(CONFIG), checkpoint.load_remover(path)
    assert loaded.config == CONFIG
    for name, tensor in saved.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], tensor), name
    assert not loaded.training


def test_eight_bits_are_half_as_large_as_half_precision_and_within_a_step_of_it(tmp_path: Path) -> None:
    half, small = tmp_path / "half.safetensors", tmp_path / "eight.safetensors"
    model = random_model(find_preset("tiny"))
    checkpoint.save_model(half, model, notes={"recipe": "kept"})

    checkpoint.compress(half, small)

    assert small.stat().st_size < 0.56 * half.stat().st_size
    assert checkpoint.read_checkpoint(small).notes == {"recipe": "kept"}
    loaded = checkpoint.load_remover(small).state_dict()
    for name, tensor in model.state_dict().items():
        if tensor.ndim < 2:
            assert torch.equal(loaded[name], tensor.half().float()), name
            continue
        peak = tensor.abs().amax(dim=tuple(range(1, tensor.ndim)), keepdim=True)
        assert ((loaded[name] - tensor).abs() <= 0.51 * peak / 127 + 1e-3 * peak).all(), name


def test_what_is_compressed_already_stays_as_it_is(path: Path, tmp_path: Path) -> None:
    once, twice = tmp_path / "once.safetensors", tmp_path / "twice.safetensors"
    checkpoint.compress(path, once)
    checkpoint.compress(once, twice)
    first, second = (checkpoint.read_checkpoint(file).tensors for file in (once, twice))
    assert checkpoint.compute_digest(first) == checkpoint.compute_digest(second)


def test_compression_never_overwrites_what_it_reads(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(ValueError, match="name another file"):
        checkpoint.compress(path, path)
    assert path.read_bytes() == before


def test_several_checkpoints_are_averaged_if_their_networks_are_the_same(tmp_path: Path) -> None:
    models = [random_model(find_preset("tiny"), seed=seed) for seed in (1, 2)]
    first, second, light = (tmp_path / f"{name}.safetensors" for name in ("first", "second", "light"))
    for path, model in zip((first, second), models, strict=True):
        checkpoint.save_model(path, model)
    small = checkpoint.compress(first, tmp_path / "small.safetensors")
    mean = checkpoint.load_remover(checkpoint.compress(small, tmp_path / "mean.safetensors", second))
    for name, tensor in mean.state_dict().items():
        expected = sum(model.state_dict()[name] for model in models) / 2
        torch.testing.assert_close(tensor, expected, rtol=0, atol=0.02 * float(expected.abs().max()))
    checkpoint.save_model(light, random_model(replace(find_preset("tiny"), fusion="map")))
    with pytest.raises(ValueError, match=r"light\.safetensors"):
        checkpoint.compress(first, tmp_path / "mixed.safetensors", light)


def test_half_precision_is_the_default_and_loads_as_float32(tmp_path: Path) -> None:
    path, model = tmp_path / "half.safetensors", random_model(CONFIG)
    checkpoint.save_model(path, model)
    assert {tensor.dtype for tensor in checkpoint.read_checkpoint(path).tensors.values()} == {
        np.dtype(np.float16)
    }
    weight = checkpoint.load_remover(path).denoiser.stem.weight
    assert torch.equal(weight, model.denoiser.stem.weight.half().float())


def test_values_too_large_for_half_precision_are_refused(tmp_path: Path) -> None:
    model = random_model(CONFIG)
    with torch.no_grad():
        model.denoiser.stem.weight[0, 0, 0, 0] = 1e6
    with pytest.raises(ValueError, match=r"denoiser\.stem\.weight .* half=False"):
        checkpoint.save_model(tmp_path / "big.safetensors", model)
    assert not list(tmp_path.iterdir())


def test_notes_travel_with_the_weights(tmp_path: Path) -> None:
    path = tmp_path / "noted.safetensors"
    checkpoint.write_checkpoint(path, CONFIG, {"step": np.array([3])}, {"recipe": "ten minutes"})
    assert checkpoint.read_checkpoint(path).notes == {"recipe": "ten minutes"}


def test_places_lead_to_the_bytes_of_each_tensor(path: Path) -> None:
    data = path.read_bytes()
    tensors = checkpoint.read_checkpoint(path).tensors
    for name, place in checkpoint.locate_tensors(path).items():
        raw = np.frombuffer(data[place.offset : place.offset + place.length], np.float32)
        assert np.array_equal(raw.reshape(place.shape), tensors[name])


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = path.read_bytes()

    def full_disk(file: Path, data: bytes) -> None:
        with file.open("wb") as half:
            half.write(data[: len(data) // 2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full_disk)
    with pytest.raises(OSError, match="No space left"):
        checkpoint.save_model(path, random_model(CONFIG, seed=1))
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_reader_never_sees_half_a_file(path: Path) -> None:
    models = [random_model(CONFIG, seed) for seed in (1, 2)]
    stop = threading.Event()

    def rewrite() -> None:
        while not stop.is_set():
            for model in models:
                checkpoint.save_model(path, model, half=False)

    writer = threading.Thread(target=rewrite)
    writer.start()
    try:
        for _ in range(30):
            checkpoint.read_checkpoint(path)
    finally:
        stop.set()
        writer.join()


def test_another_preset_is_refused_by_name(path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"holds a configuration of its own .* but preset 'light' was asked for"
    ):
        checkpoint.load_remover(path, expect=find_preset("light"))
    with pytest.raises(ValueError, match="was asked for"):
        checkpoint.load_remover(path, expect=replace(CONFIG, predicts="noise"))
    assert checkpoint.load_remover(path, expect=CONFIG).config == CONFIG


def damaged(path: Path, kind: str) -> None:
    data = path.read_bytes()
    if kind == "truncated":
        path.write_bytes(data[:-100])
    elif kind == "header only":
        path.write_bytes(data[:50])
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "one bit":
        path.write_bytes(data[:-5] + bytes([data[-5] ^ 1]) + data[-4:])
    elif kind == "text":
        path.write_text("this is a text, and a long one at that, but no checkpoint")
    elif kind == "pickle":
        path.write_bytes(pickle.dumps({"weights": [1, 2, 3]}))
    elif kind == "torch":
        torch.save({"weights": torch.ones(3)}, path)
    elif kind == "foreign":
        save_file({"weight": np.ones(3, np.float32)}, path)
    elif kind == "other version":
        tensors = checkpoint.read_checkpoint(path).tensors
        save_file(tensors, path, {"format": "deshadow", "config": '{"engine": "steam"}'})
    elif kind == "other tensors":
        checkpoint.write_checkpoint(path, CONFIG, {"weight": np.ones(3, np.float32)})


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("truncated", "truncated, damaged or no safetensors"),
        ("header only", "truncated, damaged or no safetensors"),
        ("empty", "truncated, damaged or no safetensors"),
        ("one bit", "damaged .* digest"),
        ("text", "truncated, damaged or no safetensors"),
        ("pickle", "is a pickle"),
        ("torch", "is a pickle"),
        ("foreign", "not a checkpoint of deshadow"),
        ("other version", "not a model configuration of this version"),
        ("other tensors", "not those of its configuration"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(path: Path, kind: str, message: str) -> None:
    damaged(path, kind)
    with pytest.raises(ValueError, match=message) as caught:
        checkpoint.load_remover(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_and_an_unknown_name_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no checkpoint at .*gone\.safetensors"):
        checkpoint.load_remover(tmp_path / "gone.safetensors")
    with pytest.raises(ValueError, match=r"no checkpoint at .*: name a \.safetensors file"):
        checkpoint.load_remover(tmp_path)
    with pytest.raises(ValueError, match="no weights 'sunny'"):
        checkpoint.load_remover("sunny")


def test_shipped_weights_are_found_by_name(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "SHIPPED", path.parent)
    assert checkpoint.locate("small") == path
    with pytest.raises(ValueError, match="the shipped ones are small"):
        checkpoint.locate("large")
