"""Short training runs in this process or in others, data for them, and what they leave."""

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from deshadow.runtime import checkpoint
from deshadow.training.journal import read_log
from deshadow.training.options import TrainingOptions, parse_training
from deshadow.training.state import STATE

ONE_STAGE = ["--pretrain", "0", "--invariant-target", "detached"]
SHORT = ["--recipe", "tiny", "--size", "32", "--batch", "4", "--val-count", "4", "--log-every", "8"]


def options(out: Path, *more: str) -> TrainingOptions:
    return parse_training([*SHORT, "--device", "cpu", "--out", str(out), *more])


def start(out: Path, *more: str, processes: int = 1) -> subprocess.Popen[bytes]:
    launcher = ["-m", "deshadow.training"]
    if processes > 1:
        launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}", *launcher]
    command = [sys.executable, *launcher, *SHORT, "--device", "cpu", "--out", str(out), *more]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, stderr=subprocess.PIPE, env=environment)


def finish(run: subprocess.Popen[bytes]) -> None:
    _, errors = run.communicate()
    assert run.returncode == 0, errors.decode()


def tensors(out: Path) -> dict[str, np.ndarray]:
    return checkpoint.read_checkpoint(out / STATE).tensors


def last(out: Path, kind: str) -> dict[str, Any]:
    return [line for line in read_log(out) if line["kind"] == kind][-1]


def write_pairs(folder: Path, splits: Iterable[str] = ("train", "val"), count: int = 3) -> Path:
    rng = np.random.default_rng(0)
    for split in splits:
        for part in ("shadow", "mask", "shadow_free"):
            (folder / split / part).mkdir(parents=True)
        for k in range(count):
            clean = rng.integers(60, 255, (40, 48, 3), dtype=np.uint8)
            mask = np.zeros((40, 48), np.uint8)
            mask[10:30, 10:30] = 255
            picture = np.where(mask[..., None] > 0, clean // 3, clean)
            for part, view in (("shadow", picture), ("mask", mask), ("shadow_free", clean)):
                Image.fromarray(view).save(folder / split / part / f"{k}.png")
    return folder
