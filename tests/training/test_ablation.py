import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_models import random_model
from scenes import write_scenes

from deshadow.nn.config import ModelConfig, find_preset, make_palette, make_unconditional
from deshadow.runtime import checkpoint, torch_backend
from deshadow.training import ablation as module
from deshadow.training import row as one_row
from deshadow.training.ablation import Ablation, ablate, parse_ablation
from deshadow.training.arguments import change, flatten
from deshadow.training.batches import Source
from deshadow.training.digest import digest_code
from deshadow.training.journal import read_log
from deshadow.training.loop import train
from deshadow.training.options import Length, TrainingOptions, parse_training
from deshadow.training.row import begin_row, check_begun
from deshadow.training.rows import ROWS, TABLES
from deshadow.training.state import STATE, WEIGHTS
from deshadow.training.transplant import transplant

pytestmark = pytest.mark.xdist_group("ablation")  # all rows are trained once

SHORT = ["--recipe", "tiny", "--size", "32", "--batch", "4", "--val-count", "3", "--log-every", "4"]
SHORT += ["--noise-steps", "2", "--device", "cpu"]


ROWS_OF_NOISE = "latent,noise-literal,noise-frozen,noise-v,noise-none,palette,repaint"


def ablation(data: Path, out: Path, *more: str) -> Ablation:
    return parse_ablation([str(data), *SHORT, "--out", str(out), *more])


def config(folder: Path) -> ModelConfig:
    return checkpoint.read_config(folder / WEIGHTS)[0]


def records(out: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads((out / "tables.json").read_text())["rows"]
    return found


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    write_scenes(folder, count=4, height=40, width=48)
    return folder


@pytest.fixture(scope="module")
def whole(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole")
    ablate(ablation(data, out, "--images", "8"))
    return out


def test_every_row_is_a_run_of_the_model_that_it_names(whole: Path) -> None:
    ours = find_preset("tiny")
    for name in ("latent", "latent-seed2", "no-invariant", "no-stage-one"):
        assert config(whole / name) == ours
    assert [config(whole / name).fusion for name in ("no-fusion", "lagged", "map")] == ["none", "none", "map"]
    guided = {"none": "none", "none-seed2": "none", "colour": "colour", "coarse": "coarse"}
    guided |= {"noise-none": "none", "noise-frozen": "latent", "noise-v": "latent"}
    assert {name: config(whole / name).guidance for name in guided} == guided
    noise = {name: config(whole / name).predicts for name in ROWS if name.startswith("noise")}
    assert noise == dict.fromkeys(noise, "noise") | {"noise-v": "v"}
    assert config(whole / "palette") == make_palette(ours)
    assert config(whole / "repaint") == make_unconditional(ours)
    begun = {name: json.loads(read_log(whole / name)[0]["options"]) for name in ROWS}
    assert {name: options["lag"] for name, options in begun.items() if options["lag"]} == {"lagged": 5}
    assert {name for name, options in begun.items() if not options["invariant"]} == {"no-invariant"}
    assert {name for name, options in begun.items() if not options["pretrain"]} == {"no-stage-one"}
    assert {name for name, options in begun.items() if options["seed"]} == {"latent-seed2", "none-seed2"}
    assert {name for name, options in begun.items() if options["weighting"] == "p2"} == {
        "noise-literal",
        "noise-frozen",
        "noise-v",
        "noise-none",
    }
    assert {name for name, options in begun.items() if options["val_anchor"] == "lit"} == {
        *ROWS_OF_NOISE.split(",")[1:]
    }
    assert {name: begun[name]["invariant_target"] for name in ("noise-literal", "noise-frozen")} == {
        "noise-literal": "joint",
        "noise-frozen": "frozen",
    }
    assert [config(whole / name).latent_range for name in ("noise-literal", "noise-frozen")] == [
        "free",
        "bounded",
    ]


@pytest.mark.parametrize(
    ("row", "weighting"), [("noise-literal", "p2"), ("palette", "uniform"), ("repaint", "uniform")]
)
def test_rows_that_follow_others_keep_to_their_equations_whatever_the_options_say(
    data: Path, tmp_path: Path, row: str, weighting: str
) -> None:
    more = ["--emphasis", "3", "--lab", "2", "--norm", "l1", "--final", "0.5", "--spikes", "1"]
    more += ["--images", "8"]
    options = ablation(data, tmp_path, *more).row(row)
    objective, model = options.objective, options.network.model
    assert (objective.norm, objective.weighting) == ("l2", weighting)
    assert (objective.emphasis, objective.final, objective.spikes) == (0, 0, 0)
    assert model.predicts == "noise"
    if row == "noise-literal":
        assert (objective.blind, objective.invariant, objective.invariant_target) == (False, 1.0, "joint")
        assert (model.guidance, model.fusion, model.latent_range) == ("latent", "vector", "free")
        varied = options.augmentation
        assert (varied.degraded_masks, varied.squeeze) == (0, False)
        assert (varied.exposure, varied.balance, varied.depth, varied.tint) == (0, 0, 0, 0)
        assert (options.optimization.ema, options.optimization.clip) == (0, 0)
    else:
        assert (model.guidance, model.fusion) == ("none", "none")
        assert model.sees == {"palette": "picture", "repaint": "nothing"}[row]


def test_the_picture_is_hidden_only_from_a_denoiser_that_has_a_guidance(data: Path, tmp_path: Path) -> None:
    whole = ablation(data, tmp_path, "--hide-picture", "0.3", "--images", "8")
    hidden = {name for name in ROWS if whole.row(name).objective.hide_picture}
    assert hidden == {name for name in ROWS if whole.row(name).network.model.guidance != "none"} - {
        "noise-literal"
    }


def test_the_literal_row_is_the_recipe_paper_but_for_networks_data_and_length(data: Path) -> None:
    row = parse_ablation([str(data), "--recipe", "light", "--images", "8"]).row("noise-literal")
    recipe = parse_training(["--recipe", "paper", "--data", str(data)])
    assert row.val_steps == recipe.val_steps == 50
    paper, literal = flatten(recipe), flatten(row)
    free = {"preset", "synthetic", "instances", "images", "pretrain", "out"}
    free |= {"validate_every", "val_anchor", "val_steps"}
    free |= {"batch", "optimizer", "rate", "warmup", "decay", "weight_decay"}
    assert {name for name, value in literal.items() if value != paper[name]} <= free


def test_the_second_seed_sees_other_images(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {}

    def train(row: TrainingOptions, source: Source) -> None:
        found[row.out.name] = source.batch(0, 2)
        raise ValueError("enough")

    monkeypatch.setattr(one_row, "train", train)
    with pytest.raises(ValueError, match="enough"):
        ablate(
            ablation(data, tmp_path / "out", "--images", "8", "--rows", "latent,none,latent-seed2,none-seed2")
        )
    assert (found["latent"].noise == found["none"].noise).all()
    assert (found["latent-seed2"].noise == found["none-seed2"].noise).all()
    assert (found["latent"].noise != found["latent-seed2"].noise).any()
    assert (found["latent"].picture != found["latent-seed2"].picture).any()


def test_what_predicts_noise_draws_all_timesteps_alike(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = {}

    def train(row: TrainingOptions, source: Source) -> None:
        drawn[row.out.name] = source.options.objective.final
        raise ValueError("enough")

    monkeypatch.setattr(one_row, "train", train)
    with pytest.raises(ValueError, match="enough"):
        ablate(ablation(data, tmp_path / "out", "--images", "8", "--rows", ROWS_OF_NOISE))
    assert drawn == {"latent": 0.6, **dict.fromkeys(ROWS_OF_NOISE.split(",")[1:], 0.0)}


def test_a_row_is_trained_on_the_data_of_its_own_options(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {}

    def train(row: TrainingOptions, source: Source) -> None:
        found[row.out.name] = source.synthetic, source.size
        raise ValueError("enough")

    monkeypatch.setattr(one_row, "train", train)
    monkeypatch.setitem(ROWS, "coarse", {"guidance": "coarse", "synthetic": 0.5, "size": 16})
    with pytest.raises(ValueError, match="enough"):
        ablate(ablation(data, tmp_path / "out", "--images", "8", "--rows", "latent,coarse,colour"))
    assert found == {"latent": (0.0, 32), "coarse": (0.5, 16), "colour": (0.0, 32)}


def test_the_tables_have_every_row_with_its_figures(whole: Path) -> None:
    found = records(whole)
    assert {*found} == {*ROWS, "input"} == {name for rows in TABLES.values() for name in rows}
    for name in ROWS:
        row = found[name]
        assert row["row"] == name
        assert (row["images"], row["pictures"]) == (8, 3)
        assert row["minutes"] > 0
        assert row["sharpness"] > 0
        assert {*row["regions"]} == {"shadow", "non_shadow", "all"}
        assert row["code"] == [digest_code()]
        alive = config(whole / name).guidance == "latent"
        assert (row["latent_worth"] is not None) == (row["latent_gap"] is not None) == alive
    lines = (whole / "tables.md").read_text().splitlines()
    for name, title in TABLES["Guidance (Tab. 4)"].items():
        regions = [found[name]["regions"][region] for region in ("shadow", "non_shadow", "all")]
        figures = [f"{region['lab_mae']:.2f}" for region in regions]
        figures += [f"{region['psnr']:.2f}" for region in regions]
        figures += [f"{region['ssim']:.3f}" for region in regions]
        assert any(line.startswith(f"| {title} | {' | '.join(figures)} |") for line in lines)


def test_the_figures_are_those_of_the_runs_own_validation(whole: Path) -> None:
    row = json.loads((whole / "latent" / "row.json").read_text())
    logged = [line for line in read_log(whole / "latent") if line["kind"] == "validation"][-1]
    for name in ("shadow", "non_shadow", "all"):  # released weights are of half precision
        assert row["regions"][name]["lab_mae"] == pytest.approx(logged[name], abs=0.02)


def test_rows_are_scored_in_float32_on_every_device(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the precision depends on the device")

    monkeypatch.setattr(torch_backend, "choose_precision", refuse)
    ablate(ablation(data, tmp_path, "--images", "8", "--rows", "none"))
    assert "regions" in records(tmp_path)["none"]


def test_what_is_done_is_not_done_again(data: Path, whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a row was run again")

    monkeypatch.setattr(one_row, "train", refuse)
    monkeypatch.setattr(module, "open_source", refuse)
    before = (whole / "tables.json").read_bytes()
    ablate(ablation(data, whole, "--images", "8"))
    assert (whole / "tables.json").read_bytes() == before


def test_the_collapse_picture_is_drawn_from_the_rows(whole: Path) -> None:
    found = json.loads((whole / "collapse.json").read_text())
    assert list(found["models"]) == ["knowing the true picture", "without fusion", "dense fusion (ours)"]
    assert (whole / "collapse.png").stat().st_size > 10_000


def test_a_paused_ablation_goes_on_in_the_row_where_it_stopped(
    data: Path, whole: Path, tmp_path: Path
) -> None:
    more = ["--images", "8", "--rows", "none,coarse"]
    ablate(ablation(data, tmp_path, *more, "--pause-after", "0.0001"))
    assert (tmp_path / "none" / STATE).exists()
    assert not (tmp_path / "none" / "row.json").exists()
    assert not (tmp_path / "coarse").exists()
    assert "## " not in (tmp_path / "tables.md").read_text()  # no table has a row
    ablate(ablation(data, tmp_path, *more))
    kinds = [line["kind"] for line in read_log(tmp_path / "none")]
    assert kinds.count("begin") == 2
    for name in ("none", "coarse"):
        expected, found = (
            checkpoint.read_checkpoint(out / name / WEIGHTS).tensors for out in (whole, tmp_path)
        )
        for tensor in expected:
            np.testing.assert_allclose(found[tensor], expected[tensor], atol=1e-5)


def test_no_row_is_begun_in_the_last_minute_of_a_call(data: Path, tmp_path: Path) -> None:
    ablate(ablation(data, tmp_path, "--images", "4", "--rows", "none,coarse", "--pause-after", "0.99"))
    assert (tmp_path / "none" / "row.json").exists()
    assert not (tmp_path / "coarse").exists()


def test_a_signal_ends_it_with_its_code_and_the_same_command_goes_on(data: Path, tmp_path: Path) -> None:
    arguments = [str(data), *SHORT, "--images", "48", "--rows", "none", "--out", str(tmp_path)]
    command = [sys.executable, "-m", "deshadow.training.ablation", *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    run = subprocess.Popen(command, stderr=subprocess.PIPE, env=environment)
    log = tmp_path / "none" / "log.jsonl"
    while not log.exists() or b'"train"' not in log.read_bytes():
        assert run.poll() is None
        time.sleep(0.02)
    run.send_signal(signal.SIGTERM)
    _, errors = run.communicate(timeout=120)
    assert run.returncode == 143
    assert b"row 1 of 1: none" in errors
    assert b"the same command continues" in errors
    ablate(parse_ablation(arguments))
    assert json.loads((tmp_path / "none" / "row.json").read_text())["images"] == 48


def test_a_row_killed_before_it_saved_anything_begins_anew(data: Path, tmp_path: Path) -> None:
    (tmp_path / "latent").mkdir()
    (tmp_path / "latent" / "log.jsonl").write_text('{"kind": "begin", "images": 0}\n')
    ablate(ablation(data, tmp_path, "--images", "4", "--rows", "latent"))
    assert json.loads((tmp_path / "latent" / "row.json").read_text())["images"] == 4


def test_a_failed_row_is_named_the_others_run_and_it_is_tried_again(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(options: TrainingOptions, **more: Any) -> Any:
        if options.network.fusion == "none":
            raise RuntimeError("out of\nmemory")
        return train(options, **more)

    chosen = ablation(data, tmp_path, "--images", "4", "--rows", "no-fusion,latent")
    with monkeypatch.context() as patch:
        patch.setattr(one_row, "train", fails)
        with pytest.raises(ValueError, match=r"failed: no-fusion \(out of memory\)"):
            ablate(chosen)
    text = (tmp_path / "tables.md").read_text()
    assert "without fusion (failed: out of memory)" in text
    assert "lagged posterior (not run)" in text
    assert json.loads((tmp_path / "latent" / "row.json").read_text())["images"] == 4
    assert not (tmp_path / "collapse.json").exists()
    ablate(chosen)
    assert "failed" not in (tmp_path / "tables.md").read_text()
    assert (tmp_path / "collapse.json").exists()


def test_rows_start_from_given_weights_as_far_as_these_fit(data: Path, tmp_path: Path) -> None:
    weights = tmp_path / "start.safetensors"
    checkpoint.save_model(weights, random_model(find_preset("tiny")))
    more = ["--images", "4", "--rate", "0", "--init", str(weights), "--rows", "latent,coarse"]
    ablate(ablation(data, tmp_path / "out", *more))
    given = checkpoint.read_checkpoint(weights).tensors
    shares = {}
    for name in ("latent", "coarse"):
        found = checkpoint.read_checkpoint(tmp_path / "out" / name / WEIGHTS).tensors
        same = {key for key, tensor in found.items() if np.array_equal(tensor, given[key])}
        assert all(found[key].shape != given[key].shape or key in same for key in found)
        record = json.loads((tmp_path / "out" / name / "row.json").read_text())
        shares[name] = record["from_init"]
    assert shares["latent"] == 1
    assert 0.9 < shares["coarse"] < 1
    with pytest.raises(ValueError, match=r"started with init start\.safetensors, not None"):
        ablate(ablation(data, tmp_path / "out", *more[:4], *more[6:]))


def test_compressed_weights_are_taken_over_with_their_scales(tmp_path: Path) -> None:
    config = find_preset("tiny")
    checkpoint.save_model(tmp_path / "whole.safetensors", random_model(config))
    checkpoint.compress(tmp_path / "whole.safetensors", tmp_path / "small.safetensors")
    assert transplant(str(tmp_path / "small.safetensors"), config, 0, tmp_path / "new.safetensors") == 1
    whole, new = (
        checkpoint.read_checkpoint(tmp_path / f"{name}.safetensors").tensors for name in ("whole", "new")
    )
    for name, tensor in whole.items():
        np.testing.assert_allclose(new[name], tensor, atol=0.01 * np.abs(tensor).max(), err_msg=name)


def test_options_that_are_newer_than_a_row_had_their_defaults(tmp_path: Path) -> None:
    row = Ablation(out=tmp_path, length=Length(images=8)).row("latent")
    begin_row(row)
    path = row.out / "options.json"
    begun = json.loads(path.read_text())
    path.write_text(json.dumps({name: value for name, value in begun.items() if name != "spikes"}))
    check_begun(row)
    with pytest.raises(ValueError, match=r"latent was started with spikes 0\.0, not 0\.5"):
        check_begun(change(row, {"spikes": 0.5}))


def test_a_row_is_not_gone_on_with_under_other_options(data: Path, whole: Path) -> None:
    with pytest.raises(ValueError, match="latent was started with images 8, not 12"):
        ablate(ablation(data, whole, "--images", "12"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "say how long"),
        (["--images", "4", "--rows", "latent,theirs"], "unknown row 'theirs': choose from latent"),
        (["--images", "4", "--fusion", "none"], "start from a model with vector fusion and a latent"),
        (["--images", "4", "--guidance", "coarse"], "start from a model with vector fusion and a latent"),
        (["--images", "4", "--lag", "0"], "--lag must be 1 or more"),
        (["--images", "4", "--noise-steps", "2000"], "number of steps"),
        (["--images", "4", "--val-count", "1"], "--val-count must be 2 or more"),
        (["--images", "4", "--init", "sunny"], "no weights 'sunny'"),
        (["--images", "4", "--resume"], "deshadow ablate --help"),
        (["{empty}", "--images", "4"], "no data set that is recognised"),
    ],
)
def test_what_is_wrong_is_said_before_any_row_is_begun(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "empty").mkdir()
    filled = [argument.format(empty=tmp_path / "empty") for argument in arguments]
    with pytest.raises(ValueError, match=message):
        ablate(parse_ablation([*SHORT, "--out", str(tmp_path / "out"), *filled]))
    assert not (tmp_path / "out").exists()


def test_several_processes_are_refused(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ValueError, match="runs in one process"):
        ablate(ablation(data, tmp_path, "--images", "4"))


@pytest.mark.parametrize("command", ["ablation", "distill"])
def test_it_imports_nothing_beyond_torch_numpy_pillow_and_safetensors(command: str) -> None:
    code = f"""
import sys
import torch, numpy, PIL.Image, PIL.ImageOps, safetensors.numpy, torch.nn.parallel
before = {{name.partition(".")[0] for name in sys.modules}} | set(sys.stdlib_module_names)
import deshadow.training.{command}
print(sorted({{name.partition(".")[0] for name in sys.modules}} - before - {{"PIL"}}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['deshadow']\n"
