"""How many threads a test process takes, and fixtures that are too slow to make for each test."""

import os
import signal
from collections.abc import Callable
from fcntl import LOCK_EX, flock
from pathlib import Path

import pytest
import torch
from random_models import random_model

from deshadow.nn.config import find_preset
from deshadow.runtime.checkpoint import save_model


def pytest_configure() -> None:
    """Prepare a test process: its threads, and Ctrl-C for the processes that it starts.

    There is a test process for each core, so each computes with one thread, as do those that it starts.
    What a shell runs in the background ignores Ctrl-C, and so does whatever that starts.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if "PYTEST_XDIST_WORKER" in os.environ:
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cache of all test processes and of those that they start, instead of the user's own."""
    folder = _shared_folder(tmp_path_factory) / "cache"
    os.environ["DESHADOW_CACHE"] = str(folder)
    return folder


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random `tiny` in half precision, with its ONNX graphs beside it; not to be changed."""

    def make(folder: Path) -> None:
        from deshadow.runtime.export import export

        save_model(folder / "tiny.safetensors", random_model(find_preset("tiny")))
        export(folder / "tiny.safetensors")

    return make_once(tmp_path_factory, "exported", make) / "tiny.safetensors"


def make_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """A folder that one test process fills and all of them read."""
    folder = _shared_folder(factory) / name
    with folder.with_suffix(".lock").open("w") as lock:
        flock(lock, LOCK_EX)
        if not folder.exists():
            unfinished = factory.mktemp(name)
            make(unfinished)
            unfinished.rename(folder)
    return folder


def _shared_folder(factory: pytest.TempPathFactory) -> Path:
    """A temporary folder that all test processes of this run have in common."""
    alone = "PYTEST_XDIST_WORKER" not in os.environ
    return factory.getbasetemp() if alone else factory.getbasetemp().parent
