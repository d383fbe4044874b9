"""Fixtures that are too slow to make for each test."""

from pathlib import Path

import pytest
from random_models import random_model

from deshadow.nn.config import preset
from deshadow.runtime.checkpoint import save


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random `tiny` in half precision, with its ONNX graphs beside it; not to be changed."""
    from deshadow.runtime.export import export

    path = tmp_path_factory.mktemp("exported") / "tiny.safetensors"
    save(path, random_model(preset("tiny")))
    export(path)
    return path
