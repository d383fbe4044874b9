"""`python -m deshadow.evaluation`, for machines with torch, numpy, Pillow and safetensors alone."""

import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from random_models import random_model
from scenes import write_scenes

from deshadow.evaluation.__main__ import main, make_parser
from deshadow.evaluation.options import Comparison, Outputs
from deshadow.evaluation.run import run
from deshadow.nn.config import ModelConfig, UNetShape
from deshadow.runtime.checkpoint import save_model

COARSE = UNetShape(base=8, multipliers=(1, 1, 1, 1), blocks=1, head_channels=8, fold=2)


def test_it_gives_the_figures_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_scenes(tmp_path / "set", 2)
    weights = tmp_path / "noise.safetensors"
    save_model(weights, random_model(ModelConfig(COARSE, COARSE, predicts="noise")))
    options = ["--weights", str(weights), "--steps", "2", "--sampler", "dpm", "--anchor", "lit"]
    options += ["--latent", "other", "--device", "cpu", "--start", "900"]
    main([str(tmp_path / "set"), *options, "--json", str(tmp_path / "ours.json")])
    comparison = Comparison(
        weights=[str(weights)],
        steps=["2"],
        sampler="dpm",
        anchor="lit",
        latent="other",
        device="cpu",
        start=900,
    )
    run(tmp_path / "set", comparison, Outputs(tmp_path / "theirs.json"))
    ours, theirs = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("ours", "theirs"))
    assert ours["regions"] == theirs["regions"]
    errors = [f"{ours['regions'][region]['lab_mae']:.2f}" for region in ("shadow", "non_shadow", "all")]
    assert capsys.readouterr().out.startswith(f"noise: LAB {' / '.join(errors)}, ")


def test_every_field_of_a_comparison_is_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        make_parser().parse_args(["--help"])
    text = capsys.readouterr().out
    assert all(f"--{each.name}" in text for each in fields(Comparison))
    with pytest.raises(SystemExit):
        main(["nowhere"])
    assert capsys.readouterr().err.startswith("deshadow: nowhere")


def test_it_imports_nothing_beyond_torch_numpy_pillow_and_safetensors() -> None:
    code = """
import sys
import torch, numpy.random, PIL.Image, PIL.ImageOps, safetensors.numpy, torch.nn.parallel
before = {name.partition(".")[0] for name in sys.modules} | set(sys.stdlib_module_names)
import deshadow.evaluation.__main__
print(sorted({name.partition(".")[0] for name in sys.modules} - before - {"PIL"}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['deshadow']\n"


def test_methods_are_compared_by_the_option_of_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_scenes(tmp_path / "set", 1)
    main([str(tmp_path / "set"), "--compare", "input, gain", "--compare", "lab"])
    printed = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in printed] == ["input", "gain", "lab"]
