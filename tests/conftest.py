"""How many threads a test process takes, and fixtures that are too slow to make for each test."""

import os
from pathlib import Path

import pytest
import torch
from random_models import random_model

from deshadow.nn.config import find_preset
from deshadow.runtime.checkpoint import save_model


def pytest_configure() -> None:
    """There is a test process for each core, so each computes with one thread, as do those that it starts."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        torch.set_num_threads(1)


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random `tiny` in half precision, with its ONNX graphs beside it; not to be changed."""
    from deshadow.runtime.export import export

    path = tmp_path_factory.mktemp("exported") / "tiny.safetensors"
    save_model(path, random_model(find_preset("tiny")))
    export(path)
    return path
