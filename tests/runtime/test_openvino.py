"""OpenVINO runs the same graphs as onnxruntime, and agrees with it as far as bfloat16 allows."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from random_models import random_model, random_pair
from without_torch import WITHOUT_TORCH

from deshadow.nn.config import find_preset
from deshadow.runtime import choice, openvino_graph
from deshadow.runtime.backend import condition
from deshadow.runtime.checkpoint import save_model
from deshadow.runtime.choice import Runtime, choose_runtime
from deshadow.runtime.onnx_backend import OnnxBackend, OnnxDetector
from deshadow.runtime.open import open_backend, open_detector
from deshadow.system import extras

RUNTIMES: tuple[Runtime, ...] = ("onnxruntime", "openvino")
PRECISIONS = ("bfloat16", "float16", "float32")


@pytest.fixture(scope="module")
def backends(exported: Path) -> tuple[OnnxBackend, OnnxBackend]:
    exact, ours = (open_backend(exported, runtime=runtime) for runtime in RUNTIMES)
    assert isinstance(exact, OnnxBackend)
    assert isinstance(ours, OnnxBackend)
    return exact, ours


@pytest.mark.parametrize(("height", "width", "batch"), [(9, 17, 1), (64, 48, 3), (200, 31, 1)])
def test_it_agrees_with_onnxruntime_at_any_size(
    backends: tuple[OnnxBackend, OnnxBackend], height: int, width: int, batch: int
) -> None:
    picture, mask, noisy = random_pair(height, width, batch=batch)
    exact, ours = (condition(backend, picture, mask)(noisy, 600) for backend in backends)
    assert ours.shape == exact.shape
    assert ours.dtype == np.float32
    # bfloat16 has 8 bits, and a random network magnifies what they lack.
    assert np.abs(ours - exact).mean() < 0.08 * np.abs(exact).mean()
    assert (backends[0].runtime, backends[0].precision) == ("onnxruntime", "float32")
    assert (backends[1].runtime, backends[1].precision in PRECISIONS) == ("openvino", True)


def test_its_detector_agrees_on_a_photo() -> None:
    seen = random_pair(96, 120)[0]
    exact, ours = (open_detector("detector", runtime=runtime) for runtime in RUNTIMES)
    np.testing.assert_allclose(ours(seen), exact(seen), atol=0.05)
    assert isinstance(ours, OnnxDetector)
    assert (ours.runtime, ours.precision in PRECISIONS) == ("openvino", True)


def test_threads_that_share_it_get_what_one_gets(backends: tuple[OnnxBackend, OnnxBackend]) -> None:
    pairs = [random_pair(40, 48 + 8 * (seed % 2), seed=seed) for seed in range(8)]

    def run(pair: tuple[np.ndarray, ...]) -> np.ndarray:
        return np.asarray(condition(backends[1], pair[0], pair[1])(pair[2], 300))

    alone = [run(pair) for pair in pairs]
    with ThreadPoolExecutor(4) as pool:
        for ours, expected in zip(pool.map(run, pairs), alone, strict=True):
            np.testing.assert_array_equal(ours, expected)


def test_a_tiny_first_picture_does_not_spoil_those_that_follow() -> None:
    backend = open_backend("light", runtime="openvino")
    for size in (16, 208):
        latent = backend.encode(*random_pair(size, size)[:2])
        assert latent is not None
        assert latent.shape[2:] == (size, size)
        assert np.isfinite(latent).all()


def test_results_that_are_not_finite_are_refused(
    backends: tuple[OnnxBackend, OnnxBackend], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = backends[1].graphs["encoder"]
    request = SimpleNamespace(infer=lambda _: [np.array([0, np.nan], np.float32)])
    compiled = SimpleNamespace(create_infer_request=lambda: request, release_memory=lambda: None)
    monkeypatch.setattr(graph, "compiled", compiled)
    with pytest.raises(ValueError, match="not finite: choose --runtime onnxruntime"):
        graph({})


def test_the_number_of_threads_is_obeyed_and_changes_nothing(
    exported: Path, backends: tuple[OnnxBackend, OnnxBackend]
) -> None:
    one = OnnxBackend(exported, threads=1, runtime="openvino")
    for graph in one.graphs.values():
        assert graph.compiled.get_property("INFERENCE_NUM_THREADS") == 1  # type: ignore[attr-defined]
    picture, mask, noisy = random_pair(64, 64)
    ours, every = (condition(backend, picture, mask)(noisy, 300) for backend in (one, backends[1]))
    np.testing.assert_array_equal(ours, every)


@pytest.fixture
def copied(exported: Path, tmp_path: Path) -> Path:
    for file in exported.parent.iterdir():
        shutil.copy(file, tmp_path)
    return tmp_path / exported.name


def test_graphs_of_another_checkpoint_are_refused(copied: Path) -> None:
    save_model(copied, random_model(find_preset("tiny"), seed=5), half=False)
    with pytest.raises(ValueError, match=r"(cannot be run|another checkpoint).*: run deshadow export"):
        open_backend(copied, runtime="openvino")


def test_missing_or_broken_graphs_are_explained(copied: Path) -> None:
    copied.with_suffix(".encoder.onnx").write_bytes(b"no graph")
    with pytest.raises(ValueError, match=r"encoder\.onnx cannot be run .*: run deshadow export"):
        open_backend(copied, runtime="openvino")
    copied.with_suffix(".encoder.onnx").unlink()
    with pytest.raises(ValueError, match=r"encoder\.onnx is missing: run deshadow export"):
        open_backend(copied, runtime="openvino")


@pytest.mark.parametrize(
    ("installed", "bfloat16", "runtime"),
    [(True, True, "openvino"), (True, False, "onnxruntime"), (False, True, "onnxruntime")],
)
def test_it_is_the_default_where_it_is_installed_and_the_processor_has_bfloat16(
    exported: Path, monkeypatch: pytest.MonkeyPatch, installed: bool, bfloat16: bool, runtime: str
) -> None:
    monkeypatch.setattr(openvino_graph, "computes_in_bfloat16", lambda: bfloat16)
    if not installed:
        monkeypatch.setattr(choice, "find_spec", lambda name: None)
    assert choose_runtime("auto", "cpu", exported, has_graphs=True) == (runtime, "cpu")
    opened = open_backend(exported, "cpu"), open_detector("detector", "cpu")
    assert {network.runtime for network in opened} == {runtime}  # type: ignore[union-attr]


def test_it_knows_whether_the_processor_has_bfloat16(backends: tuple[OnnxBackend, OnnxBackend]) -> None:
    assert openvino_graph.computes_in_bfloat16() == (backends[1].precision == "bfloat16")


def test_torch_can_be_chosen_where_there_are_graphs(exported: Path) -> None:
    assert not isinstance(open_backend(exported, "cpu", runtime="torch"), OnnxBackend)


def test_a_package_that_is_not_installed_is_named(exported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    block: Callable[[str], None] = lambda name: None  # noqa: E731
    monkeypatch.setattr(extras, "find_spec", block)
    monkeypatch.setattr(choice, "find_spec", block)
    with pytest.raises(ValueError, match=r"needs openvino: pip install '\.\[openvino\]'"):
        open_backend(exported, runtime="openvino")
    with pytest.raises(ValueError, match=r"needs torch: pip install '\.\[train\]'"):
        open_backend(exported, runtime="torch")


def test_wrong_choices_are_refused_in_one_sentence(exported: Path) -> None:
    with pytest.raises(ValueError, match="openvino does not run on the device cuda: choose the device cpu"):
        open_backend(exported, "cuda", runtime="openvino")
    with pytest.raises(ValueError, match="no runtime 'abacus': choose auto, onnxruntime, openvino, torch"):
        open_backend(exported, runtime="abacus")  # type: ignore[arg-type]


def test_threads_may_run_their_first_network_at_the_same_time(exported: Path) -> None:
    code = f"""
import sys, threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
import numpy as np
from deshadow.runtime.open import open_backend
backend = open_backend(Path({str(exported)!r}), runtime="openvino")
together = threading.Barrier(4)
sys.setswitchinterval(1e-6)  # so that the threads take turns as often as they can
def encode(number):
    picture, mask = np.zeros((1, 3, 16, 16), np.float32), np.zeros((1, 1, 16, 16), np.float32)
    together.wait()
    return backend.encode(picture, mask)
with ThreadPoolExecutor(4) as pool:
    list(pool.map(encode, range(4)))
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_it_needs_neither_torch_nor_onnxruntime(exported: Path) -> None:
    code = f"""
sys.modules["onnxruntime"] = None
backend = open_backend({str(exported)!r}, runtime="openvino")
picture, mask = np.zeros((1, 3, 20, 20), np.float32), np.ones((1, 1, 20, 20), np.float32)
print(condition(backend, picture, mask)(picture, 100).shape)
"""
    done = subprocess.run([sys.executable, "-c", WITHOUT_TORCH + code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("(1, 3, 20, 20)\n", "")
