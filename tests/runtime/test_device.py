import subprocess
import sys
from pathlib import Path

import pytest
import torch
from scenes import write_scenes

from deshadow.runtime.device import choose_device
from deshadow.training.world import local_device

DEVICES = ("meta", "mkldnn", "vulkan", "lazy", "privateuseone", "toaster", "cuda:99", "")


@pytest.mark.parametrize("device", DEVICES)
def test_a_device_that_cannot_compute_is_refused_in_one_sentence(device: str) -> None:
    with pytest.raises(ValueError, match=f"^torch cannot compute on the device '{device}' here: [a-z ]+$"):
        choose_device(device)
    with pytest.raises(ValueError, match="cannot compute"):
        local_device(device)


def test_auto_is_a_gpu_if_there_is_one() -> None:
    assert choose_device() == ("cuda" if torch.cuda.is_available() else "cpu")
    assert local_device("auto").type == choose_device()


def test_evaluate_on_a_device_without_numbers_ends_in_one_line(tmp_path: Path) -> None:
    write_scenes(tmp_path, 1)
    command = [sys.executable, "-m", "deshadow", "evaluate", str(tmp_path), "--weights", "light"]
    done = subprocess.run([*command, "--device", "meta"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.endswith("torch cannot compute on the device 'meta' here: choose auto or cpu\n")
    assert "Traceback" not in done.stderr
