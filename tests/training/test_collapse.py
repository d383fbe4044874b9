import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from random_models import random_model
from scenes import write_scenes

from deshadow.cli.app import main
from deshadow.data.augment import Pairs
from deshadow.nn.config import find_preset
from deshadow.nn.lfg import LFGDiffusion
from deshadow.runtime import torch_backend
from deshadow.runtime.checkpoint import save_model
from deshadow.training.collapse import TRUTH, measure_collapse

TINY = find_preset("tiny")


def pairs(count: int = 3) -> Pairs:
    generator = torch.Generator().manual_seed(0)
    clean = torch.randint(100, 256, (count, 3, 32, 32), generator=generator, dtype=torch.uint8)
    clean = (clean * torch.linspace(0.3, 1, count).view(-1, 1, 1, 1)).to(torch.uint8)
    mask = torch.zeros(count, 1, 32, 32, dtype=torch.bool)
    mask[..., 8:24, 8:24] = True
    return Pairs(torch.where(mask, clean // 3, clean), mask, clean)


@pytest.fixture
def weights(tmp_path: Path) -> dict[str, str]:
    """One model that has learned nothing and so ignores y_t, and one that hangs on all it sees."""
    paths = {name: tmp_path / f"{name}.safetensors" for name in ("deaf", "keen")}
    save_model(paths["deaf"], LFGDiffusion(replace(TINY, fusion="none")))
    save_model(paths["keen"], random_model(TINY))
    return {name: str(path) for name, path in paths.items()}


def test_a_model_that_ignores_y_t_is_told_from_one_that_heeds_it(weights: dict[str, str]) -> None:
    models = measure_collapse(weights, pairs(), steps=4)["models"]
    assert [t for t, _ in models["deaf"]["dependence"]] == [1000, 750, 500, 250]
    assert all(moved == 0 for _, moved in models["deaf"]["dependence"])
    assert all(moved > 1 for _, moved in models["keen"]["dependence"])


def test_models_are_measured_in_float32(weights: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    # The differences that are measured are smaller than what bfloat16 leaves.
    expected = measure_collapse(weights, pairs(), steps=2)
    monkeypatch.setattr(torch_backend, "choose_precision", lambda *_: "bfloat16")
    assert measure_collapse(weights, pairs(), steps=2) == expected


def test_points_lead_from_noise_to_the_mean_of_the_picture(weights: dict[str, str]) -> None:
    held = pairs()
    points = np.array(measure_collapse(weights, held, steps=4)["models"][TRUTH]["points"])
    assert points.shape == (3 * 4, 3)
    means = (held.clean.float() / 127.5 - 1).mean(dim=(1, 2, 3)).numpy()
    np.testing.assert_allclose(points[points[:, 0] == 250, 2], means, atol=1e-4)
    np.testing.assert_allclose(points[points[:, 0] == 1000, 1], 0, atol=0.1)
    # What a step ends with is what the next one begins with.
    np.testing.assert_allclose(points[points[:, 0] == 750, 1], points[points[:, 0] == 1000, 2], atol=1e-6)


def test_the_command_draws_the_picture_and_writes_its_figures(
    tmp_path: Path, weights: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    write_scenes(tmp_path / "data", count=3, height=40, width=48)
    picture = tmp_path / "new" / "fig6.png"
    more = ["--size", "32", "--steps", "2", "--count", "2", "--names", "before", "after"]
    with pytest.raises(SystemExit) as exit_:
        main(["collapse", *weights.values(), str(tmp_path / "data"), "-o", str(picture), *more])
    assert not exit_.value.code
    assert capsys.readouterr().out.split() == [str(picture), str(picture.with_suffix(".json"))]
    assert picture.read_bytes().startswith(b"\x89PNG")
    found = json.loads(picture.with_suffix(".json").read_text())
    assert found["pictures"] == 2
    assert list(found["models"]) == [TRUTH, "before", "after"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["-o", "x.json"], "must be a picture"),
        (["-o", "x.xyz"], "name a .png, .svg or .pdf"),
        (["-o", "x.png", "--count", "1"], "--count must be 2 or more"),
        (["-o", "x.png", "--device", "toaster"], "cannot compute on the device"),
        (["-o", "x.png", "--split", "dusk"], "no split 'dusk'"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    tmp_path: Path,
    weights: dict[str, str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    more: list[str],
    message: str,
) -> None:
    write_scenes(tmp_path / "data", count=2, height=40, width=48)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as exit_:
        main(["collapse", *weights.values(), "data", "--size", "32", *more])
    assert exit_.value.code == 2
    errors = capsys.readouterr().err
    assert message in errors
    assert errors.count("\n") == 1
    assert not list(tmp_path.glob("x.*"))
