"""Compiled graphs of OpenVINO are kept, and used only for what they were compiled from."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino
import pytest
from onnx import TensorProto, helper

from deshadow.nn.config import find_preset
from deshadow.runtime import openvino_graph
from deshadow.runtime.checkpoint import fingerprint, locate_tensors, write_checkpoint
from deshadow.runtime.openvino_graph import OpenvinoGraph
from deshadow.system.cache import store_cached

GIVEN = np.arange(1, 5, dtype=np.float32)


def write_factors(path: Path, *factors: float) -> None:
    """A checkpoint whose only tensor has four numbers."""
    write_checkpoint(path, find_preset("tiny"), {"factors": np.array(factors, np.float32)})


def write_graph(graph: Path, path: Path) -> None:
    """A graph that multiplies its input by the tensor of the checkpoint."""
    place = locate_tensors(path)["factors"]
    factors = TensorProto(name="factors", data_type=TensorProto.FLOAT, dims=[4])
    factors.data_location = TensorProto.EXTERNAL
    for key, value in (("location", path.name), ("offset", place.offset), ("length", place.length)):
        factors.external_data.add(key=key, value=str(value))
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in ("given", "product")]
    multiply = helper.make_node("Mul", ["given", "factors"], ["product"])
    model = helper.make_model(helper.make_graph([multiply], "product", ends[:1], ends[1:], [factors]))
    model.ir_version = 10
    helper.set_model_props(model, {"fingerprint": fingerprint(path)})
    onnx.save(model, graph)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkpoint with its graph beside it, and a cache of its own."""
    monkeypatch.setenv("DESHADOW_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "product.safetensors"
    write_factors(path, 1, 2, 3, 4)
    write_graph(path.with_suffix(".onnx"), path)
    return path


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the graphs that were compiled."""
    names: list[str] = []

    class Core(openvino.Core):  # type: ignore[misc]
        def read_model(self, graph: Path) -> Any:
            names.append(graph.name)
            return super().read_model(graph)

    monkeypatch.setattr(openvino, "Core", Core)
    return names


def run(path: Path) -> list[float]:
    result: list[float] = OpenvinoGraph(path.with_suffix(".onnx"), path)({"given": GIVEN}).tolist()
    return result


def list_cached(path: Path) -> list[Path]:
    return sorted((path.parent / "cache").glob("*.cached"))


def test_a_graph_is_compiled_once(path: Path, compiled: list[str]) -> None:
    for _ in range(3):
        assert run(path) == [1, 4, 9, 16]
    assert len(compiled) == len(list_cached(path)) == 1
    graph = path.with_suffix(".onnx")
    opened = [OpenvinoGraph(graph, path, threads) for threads in (0, 1, 2)]
    assert {each.fingerprint for each in opened} == {fingerprint(path)}
    threads = [each.compiled.get_property("INFERENCE_NUM_THREADS") for each in opened]
    assert threads[1:] == [1, 2]
    assert len(compiled) == len(list_cached(path)) == 1


def test_new_weights_under_the_same_name_are_compiled_anew(path: Path, compiled: list[str]) -> None:
    run(path)
    write_factors(path, 5, 6, 7, 8)
    assert run(path) == [5, 12, 21, 32]
    write_factors(path, 1, 2, 3, 4)
    assert run(path) == [1, 4, 9, 16]
    assert len(compiled) == len(list_cached(path)) == 2


def test_another_graph_under_the_same_name_is_compiled_anew(path: Path, compiled: list[str]) -> None:
    run(path)
    graph = path.with_suffix(".onnx")
    model = onnx.load(graph, load_external_data=False)
    model.graph.node[0].op_type = "Add"
    onnx.save(model, graph)
    assert run(path) == [2, 4, 6, 8]
    assert len(compiled) == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda patch: patch.setattr(openvino, "__version__", "2099.1"),
        lambda patch: patch.setattr(openvino_graph, "_describe_processor", lambda: ("x86_64", "of tomorrow")),
        lambda patch: patch.setitem(openvino_graph._OPTIONS, "PERFORMANCE_HINT", "THROUGHPUT"),
    ],
    ids=["version", "processor", "options"],
)
def test_another_version_processor_or_option_compiles_anew(
    path: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch, change: Callable[[Any], None]
) -> None:
    run(path)
    change(monkeypatch)
    run(path)
    assert len(compiled) == len(list_cached(path)) == 2


@pytest.mark.parametrize("intact", [False, True], ids=["damaged", "refused by OpenVINO"])
def test_what_cannot_be_used_is_compiled_and_stored_again(
    path: Path, compiled: list[str], intact: bool
) -> None:
    run(path)
    (file,) = list_cached(path)
    if intact:
        store_cached(file.stem, lambda: b"something else")
    else:
        file.write_bytes(file.read_bytes()[:-100])
    for _ in range(2):
        assert run(path) == [1, 4, 9, 16]
    assert len(compiled) == 2


def test_graphs_of_another_checkpoint_are_never_stored(path: Path, compiled: list[str]) -> None:
    other = path.with_name("other.safetensors")
    write_factors(other, 5, 6, 7, 8)
    for _ in range(2):
        opened = OpenvinoGraph(path.with_suffix(".onnx"), other)
        assert opened.fingerprint == fingerprint(path) != fingerprint(other)
    assert len(compiled) == 2
    assert not list_cached(path)


def test_weights_that_change_while_they_are_compiled_are_not_stored(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Core(openvino.Core):  # type: ignore[misc]
        def read_model(self, graph: Path) -> Any:
            write_factors(path, 5, 6, 7, 8)
            return super().read_model(graph)

    with monkeypatch.context() as patch:
        patch.setattr(openvino, "Core", Core)
        run(path)
    assert not list_cached(path)
    assert run(path) == [5, 12, 21, 32]
    write_factors(path, 1, 2, 3, 4)
    assert run(path) == [1, 4, 9, 16]


def test_without_a_cache_graphs_are_compiled_each_time(
    path: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("off", "off", str(path / "below a file")):
        monkeypatch.setenv("DESHADOW_CACHE", place)
        assert run(path) == [1, 4, 9, 16]
    assert len(compiled) == 3
    assert not (path.parent / "cache").exists()


def test_a_graph_that_cannot_be_exported_runs_all_the_same(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise RuntimeError("not implemented")

    monkeypatch.setattr(openvino.CompiledModel, "export_model", fail)
    assert run(path) == [1, 4, 9, 16]
    assert not list((path.parent / "cache").iterdir())
