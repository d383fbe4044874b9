import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from random_models import FLAT, SMALL, random_model, random_pair
from without_torch import WITHOUT_TORCH

from deshadow.diffusion.arrays import pad_to_multiple
from deshadow.diffusion.choices import Sampler
from deshadow.diffusion.sampling import sample
from deshadow.nn.config import Fusion, Guidance, ModelConfig, Sees, find_preset
from deshadow.nn.lfg import LFGDiffusion
from deshadow.runtime.backend import condition, sample_picture
from deshadow.runtime.checkpoint import compress, load_remover, save_model
from deshadow.runtime.export import export
from deshadow.runtime.onnx_backend import OnnxBackend
from deshadow.runtime.open import open_backend
from deshadow.runtime.torch_backend import TorchBackend

SIZES = [(8, 8), (9, 17), (64, 48), (200, 31), (513, 389)]


@pytest.fixture(scope="module")
def backends(exported: Path) -> tuple[OnnxBackend, TorchBackend]:
    return OnnxBackend(exported), TorchBackend(load_remover(exported))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("batch", [1, 3])
def test_both_runtimes_agree_at_any_size(
    backends: tuple[OnnxBackend, TorchBackend], size: tuple[int, int], batch: int
) -> None:
    picture, mask, noisy = random_pair(*size, batch=batch)
    by_onnx, by_torch = (condition(backend, picture, mask)(noisy, 600) for backend in backends)
    assert by_onnx.shape == by_torch.shape == picture.shape
    assert by_onnx.dtype == by_torch.dtype == np.float32
    assert np.abs(by_torch - picture).mean() > 0.1  # the random network does something
    # Norms over two pixels by two magnify the last digit: there torch itself is 2e-3 from float64.
    np.testing.assert_allclose(by_onnx, by_torch, atol=1e-3 if min(size) > 8 else 3e-3)


def both_agree(path: Path) -> None:
    picture, mask, noisy = random_pair(20, 30, batch=2)
    by_onnx, by_torch = (
        condition(backend, picture, mask)(noisy, 100)
        for backend in (OnnxBackend(path), TorchBackend(load_remover(path)))
    )
    np.testing.assert_allclose(by_onnx, by_torch, atol=1e-3)


@pytest.mark.parametrize(
    ("guidance", "fusion", "half"),
    [("none", "map", False), ("colour", "none", True), ("coarse", "vector", False)],
)
def test_every_kind_of_model_exports(tmp_path: Path, guidance: Guidance, fusion: Fusion, half: bool) -> None:
    path = tmp_path / "small.safetensors"
    shape = SMALL if fusion == "map" else FLAT  # maps are pooled to each level
    save_model(path, random_model(ModelConfig(shape, shape, guidance, fusion, "noise")), half=half)
    written = export(path)
    both_agree(path)
    # The graphs hold no tensors and nothing of the machine that wrote them.
    assert all(graph.stat().st_size < 300_000 for graph in written)
    assert not any(b"site-packages" in graph.read_bytes() for graph in written)


def test_weights_of_eight_bits_run_alike_on_both_runtimes(tmp_path: Path) -> None:
    save_model(tmp_path / "half.safetensors", random_model(ModelConfig(FLAT, FLAT, predicts="relighting")))
    path = compress(tmp_path / "half.safetensors", tmp_path / "small.safetensors")
    export(path)
    both_agree(path)
    # Opening takes as long as a graph is large: what is in float32 is used as it lies in the file.
    for written in path.parent.glob("*.onnx"):
        graph = onnx.load(written, load_external_data=False).graph
        cast = {node.input[0] for node in graph.node if node.op_type == "Cast"}
        stored = {tensor.name: tensor.data_type for tensor in graph.initializer}
        assert {name for name, kind in stored.items() if kind == onnx.TensorProto.INT8} == cast & set(stored)
        assert onnx.TensorProto.FLOAT16 not in stored.values()
        shapes = {value.name for value in graph.value_info}
        assert shapes
        assert not shapes & set(stored)
        assert not {"Constant", "SequenceAt"} & {node.op_type for node in graph.node}


def test_an_untrained_network_exports_too(tmp_path: Path) -> None:
    path = tmp_path / "new.safetensors"
    save_model(
        path, LFGDiffusion(ModelConfig(FLAT, FLAT, "none"))
    )  # full of tensors that are 0, or like another
    export(path)
    both_agree(path)


def test_what_predicts_noise_gives_no_picture_beyond_white_and_black() -> None:
    model = random_model(ModelConfig(SMALL, SMALL, predicts="noise"))
    picture, mask, noisy = random_pair(16, 16)
    clean = condition(TorchBackend(model), picture, mask)(noisy, 1000)  # where ε is divided by 0.006
    assert np.abs(clean).max() == 1


@pytest.mark.parametrize(
    ("sees", "guidance"), [("picture", "none"), ("nothing", "none"), ("nothing", "latent")]
)
def test_models_that_see_less_run_alike_on_both_runtimes(
    tmp_path: Path, sees: Sees, guidance: Guidance
) -> None:
    path = tmp_path / "small.safetensors"
    save_model(path, random_model(ModelConfig(FLAT, FLAT, guidance, "none", "noise", sees=sees)))
    export(path)
    (picture, mask, noisy), (other, other_mask, _) = random_pair(20, 30), random_pair(20, 30, seed=1)
    for backend in (OnnxBackend(path), TorchBackend(load_remover(path))):
        seen = condition(backend, picture, mask)(noisy, 100)
        by_torch = condition(TorchBackend(load_remover(path)), picture, mask)(noisy, 100)
        np.testing.assert_allclose(seen, by_torch, atol=1e-3)
        blind_to_mask = (condition(backend, picture, other_mask)(noisy, 100) == seen).all()
        blind_to_picture = (condition(backend, other, mask)(noisy, 100) == seen).all()
        assert blind_to_mask == (guidance == "none")
        assert blind_to_picture == (sees == "nothing" and guidance == "none")


@pytest.mark.parametrize("size", SIZES)
def test_padding_is_the_same_as_by_hand(
    backends: tuple[OnnxBackend, TorchBackend], size: tuple[int, int]
) -> None:
    picture, mask, noisy = random_pair(*size)
    stride = backends[0].config.stride
    right, below = -size[1] % stride, -size[0] % stride
    by_hand = [
        np.pad(a, ((0, 0), (0, 0), (0, below), (0, right)), mode="edge") for a in (picture, mask, noisy)
    ]
    for backend in backends:
        ours = condition(backend, picture, mask)(noisy, 400)
        whole = condition(backend, by_hand[0], by_hand[1])(by_hand[2], 400)
        np.testing.assert_array_equal(ours, whole[:, :, : size[0], : size[1]])


def test_padding_is_the_same_in_both_libraries() -> None:
    picture, _, _ = random_pair(5, 11)
    padded = pad_to_multiple(torch.from_numpy(picture), 8)
    np.testing.assert_array_equal(pad_to_multiple(picture, 8), padded.numpy())
    assert padded.shape == (1, 3, 8, 16)


def test_a_sampler_runs_on_either_runtime_and_ends_at_the_same_picture(
    backends: tuple[OnnxBackend, TorchBackend],
) -> None:
    picture, mask, noisy = random_pair(24, 40)
    schedule = backends[0].config.schedule
    ends = [sample(condition(backend, picture, mask), noisy, schedule, steps=4) for backend in backends]
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-3)


def test_tensors_come_back_as_tensors(backends: tuple[OnnxBackend, TorchBackend]) -> None:
    picture, mask, noisy = random_pair(16, 16)
    tensors = [torch.from_numpy(array) for array in (picture, mask, noisy)]
    for backend in backends:
        by_numpy = condition(backend, picture, mask)(noisy, 100)
        by_torch = condition(backend, tensors[0], tensors[1])(tensors[2], 100)
        assert isinstance(by_torch, torch.Tensor)
        np.testing.assert_allclose(by_torch.numpy(), by_numpy, atol=1e-6)


def test_half_precision_is_welcome(backends: tuple[OnnxBackend, TorchBackend]) -> None:
    picture, mask, noisy = (np.full_like(a, 0.9, np.float16) for a in random_pair(256, 256))
    for backend in backends:
        clean = condition(backend, picture, mask)(noisy, 100)
        assert clean.dtype == np.float16


@pytest.mark.parametrize("t", [1, 100, 1000])
def test_noise_prediction_is_turned_into_the_clean_picture(t: int) -> None:
    model = random_model(replace(find_preset("tiny"), predicts="noise"))
    picture, mask, noisy = (torch.from_numpy(array) for array in random_pair(16, 16))
    with torch.no_grad():
        noise = model(noisy, torch.tensor([float(t)]), picture, mask, model.encode(picture, mask))
    a, s = model.config.schedule.level(t)
    clean = condition(TorchBackend(model), picture, mask)(noisy, t)
    torch.testing.assert_close(clean, ((noisy - s * noise) / a).clip(-1, 1), atol=1e-4, rtol=1e-4)


PICTURE, MASK, NOISY = random_pair(16, 16)
NAN = np.where(np.arange(16) == 3, np.nan, PICTURE).astype(np.float32)


@pytest.mark.parametrize(
    ("picture", "mask", "noisy", "message"),
    [
        (PICTURE[:, :2], MASK, NOISY, r"picture must be \(B, 3, H, W\), not \(1, 2, 16, 16\)"),
        (PICTURE[0], MASK, NOISY, "picture must be"),
        (PICTURE, PICTURE, NOISY, r"mask must be \(B, 1, H, W\)"),
        (PICTURE[:, :, :0], MASK[:, :, :0], NOISY, "picture is empty"),
        (PICTURE[:0], MASK[:0], NOISY, "picture is empty"),
        (NAN, MASK, NOISY, "picture has values that are not finite"),
        (PICTURE, MASK + np.inf, NOISY, "mask has values that are not finite"),
        (PICTURE, MASK[:, :, :8], NOISY, "mask, .* does not fit the picture"),
        (PICTURE, np.repeat(MASK, 2, axis=0), NOISY, "same batch"),
        (PICTURE, MASK, NOISY[:, :, :8], "y_t is"),
    ],
)
def test_bad_arrays_are_explained(
    picture: np.ndarray, mask: np.ndarray, noisy: np.ndarray, message: str
) -> None:
    backend = TorchBackend(random_model(find_preset("tiny")))
    with pytest.raises(ValueError, match=message):
        condition(backend, picture, mask)(noisy, 10)
    with pytest.raises(ValueError, match=message):
        condition(backend, torch.from_numpy(picture), torch.from_numpy(mask))(torch.from_numpy(noisy), 10)
    with pytest.raises(ValueError, match=message):
        sample_picture(backend, picture, mask, noisy, steps=1)


def test_finite_numbers_whose_sum_is_not_are_accepted() -> None:
    backend = TorchBackend(random_model(find_preset("tiny")))
    huge = torch.from_numpy(PICTURE).sign() * 3e38
    assert not huge.abs().sum().isfinite()
    condition(backend, huge.abs(), torch.from_numpy(MASK))


@pytest.mark.parametrize("sampler", ["ddim", "dpm"])
def test_sampling_on_the_device_gives_the_picture_of_sampling_in_numpy(
    backends: tuple[OnnxBackend, TorchBackend], sampler: Sampler
) -> None:
    picture, mask, noisy = random_pair(20, 30, batch=2)
    for backend in backends:
        schedule = backend.config.schedule
        step_by_step = sample(condition(backend, picture, mask), noisy, schedule, steps=3, sampler=sampler)
        at_once = sample_picture(backend, picture, mask, noisy, steps=3, sampler=sampler)
        assert isinstance(at_once, np.ndarray)
        assert at_once.dtype == np.float32
        np.testing.assert_allclose(at_once, step_by_step, atol=1e-4)


def test_sampling_copies_nothing_between_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = TorchBackend(random_model(ModelConfig(FLAT, FLAT, predicts="relighting")))
    picture, mask, noisy = random_pair(16, 16)
    kinds = []

    def predict(noisy: Any, *given: Any) -> Any:
        kinds.append({type(each) for each in (noisy, *given[1:])})
        return TorchBackend.predict(backend, noisy, *given)

    monkeypatch.setattr(backend, "predict", predict)
    sample_picture(backend, picture, mask, noisy, steps=3)
    assert kinds == [{torch.Tensor}] * 3


def copied(exported: Path, folder: Path) -> Path:
    for file in exported.parent.iterdir():
        shutil.copy(file, folder)
    return folder / exported.name


def test_the_cpu_gets_the_graphs_where_there_are_some(exported: Path, tmp_path: Path) -> None:
    path = copied(exported, tmp_path)
    assert isinstance(open_backend(path, "cpu"), OnnxBackend)
    path.with_suffix(".denoiser.onnx").unlink()
    assert isinstance(open_backend(path, "cpu"), TorchBackend)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_missing_device_is_explained(exported: Path) -> None:
    with pytest.raises(ValueError, match="torch cannot compute on the device 'cuda' here"):
        open_backend(exported, "cuda")
    with pytest.raises(ValueError, match="torch cannot compute on the device 'toaster' here"):
        open_backend(exported, "toaster")


def test_graphs_of_another_checkpoint_are_refused(exported: Path, tmp_path: Path) -> None:
    path = copied(exported, tmp_path)
    save_model(
        path, random_model(find_preset("tiny"), seed=5), half=False
    )  # other places than in half precision
    with pytest.raises(ValueError, match=r"(cannot be run|another checkpoint).*: run deshadow export"):
        OnnxBackend(path)


def test_graphs_go_on_with_new_weights_of_the_same_shape(exported: Path, tmp_path: Path) -> None:
    path = copied(exported, tmp_path)
    save_model(path, random_model(find_preset("tiny"), seed=5))
    picture, mask, noisy = random_pair(16, 16)
    by_onnx = condition(OnnxBackend(path), picture, mask)(noisy, 300)
    by_torch = condition(TorchBackend(load_remover(path)), picture, mask)(noisy, 300)
    np.testing.assert_allclose(by_onnx, by_torch, atol=1e-3)
    assert np.abs(by_onnx - condition(OnnxBackend(exported), picture, mask)(noisy, 300)).mean() > 0.1


def test_missing_or_broken_graphs_are_explained(exported: Path, tmp_path: Path) -> None:
    path = copied(exported, tmp_path)
    path.with_suffix(".encoder.onnx").write_bytes(b"no graph")
    with pytest.raises(ValueError, match=r"encoder\.onnx cannot be run .*: run deshadow export"):
        OnnxBackend(path)
    path.with_suffix(".encoder.onnx").unlink()
    with pytest.raises(ValueError, match=r"encoder\.onnx is missing: run deshadow export"):
        OnnxBackend(path)


def run_without_torch(code: str, *arguments: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT_TORCH + code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_onnxruntime_needs_no_torch(exported: Path) -> None:
    code = """
backend = open_backend(sys.argv[1], runtime="onnxruntime")
assert isinstance(backend, OnnxBackend)
picture, mask = np.zeros((1, 3, 20, 20), np.float32), np.ones((1, 1, 20, 20), np.float32)
noisy = np.random.default_rng(0).standard_normal(picture.shape).astype(np.float32)
print(sample(condition(backend, picture, mask), noisy, backend.config.schedule, steps=2).shape)
"""
    done = run_without_torch(code, exported)
    assert (done.stdout, done.stderr) == ("(1, 3, 20, 20)\n", "")


def test_without_graphs_and_without_torch_one_sentence_says_what_to_install(tmp_path: Path) -> None:
    path = tmp_path / "small.safetensors"
    save_model(path, random_model(ModelConfig(SMALL, SMALL)))
    done = run_without_torch("open_backend(sys.argv[1])", path)
    assert done.returncode != 0
    assert (
        "pip install '.[export]' in the clone of deshadow, then deshadow export"
        in done.stderr.splitlines()[-1]
    )


def test_without_a_driver_torch_is_not_loaded_to_look_for_a_gpu(exported: Path) -> None:
    code = f"""
import sys
from deshadow.runtime import device, open
device._has_driver = lambda: False
open.open_backend({str(exported)!r})
print("torch" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_graphs_hold_nothing_that_is_inlined_when_they_are_opened(exported: Path) -> None:
    for graph in exported.parent.glob("*.onnx"):
        kinds = {node.op_type for node in onnx.load(graph, load_external_data=False).graph.node}
        assert "InstanceNormalization" in kinds
        assert not kinds & {"GroupNormalization", "CastLike"}


def test_graphs_compute_attention_without_the_scores_of_all_pairs(exported: Path) -> None:
    for graph in exported.parent.glob("*.onnx"):
        kinds = {node.op_type for node in onnx.load(graph, load_external_data=False).graph.node}
        assert "MultiHeadAttention" in kinds
        assert not kinds & {"MatMul", "Softmax"}


@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino"])
def test_opening_a_model_reports_nothing_to_anybody(exported: Path, tmp_path: Path, runtime: str) -> None:
    # Where a runtime may report, it leaves the name that it gives to the machine in these folders.
    opening = f"OnnxBackend({str(exported)!r}, runtime={runtime!r})"
    program = f"from deshadow.runtime.onnx_backend import OnnxBackend; {opening}"
    places = {name: str(tmp_path) for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME")}
    environment = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    subprocess.run([sys.executable, "-c", program], check=True, env={**environment, **places})
    assert list(tmp_path.iterdir()) == []
