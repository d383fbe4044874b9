"""The evaluator on whole data sets, in Python and as a user runs it."""

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from PIL import Image
from random_models import SMALL, random_model
from scenes import give, scene, write_scenes, write_triplet
from without_torch import WITHOUT_TORCH

from deshadow.data.pairs.find import find
from deshadow.evaluation.build import build_methods
from deshadow.evaluation.degraded_masks import degrade_mask
from deshadow.evaluation.methods import replace_masks
from deshadow.evaluation.options import Comparison, Outputs
from deshadow.evaluation.protocol import choose_samples, evaluate_method
from deshadow.evaluation.record import as_dict, format_evaluations
from deshadow.evaluation.run import run
from deshadow.metrics.scores import lab_difference
from deshadow.nn.config import ModelConfig
from deshadow.runtime.checkpoint import save_model


def deshadow(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "deshadow", "evaluate", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def figures(folder: Path, comparison: Comparison, **options: Any) -> dict[str, Any]:
    """What is written for one method."""
    [found] = run(folder, comparison, **options)
    return as_dict(found)


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four scenes; not to be changed."""
    folder = tmp_path_factory.mktemp("scenes")
    write_scenes(folder)
    return folder


def test_the_json_has_every_figure_of_the_set_and_of_each_picture(scenes: Path, tmp_path: Path) -> None:
    path = tmp_path / "new/figures.json"
    run(scenes, Comparison(["gain"]), Outputs(json=path))
    found = json.loads(path.read_text())
    assert found["images"] == len(found["pictures"]) == 4
    keys = {"lab_mae", "lab_rmse", "lab_mae_per_picture", "psnr", "psnr_region", "ssim"}
    for size in ("regions", "regions_native"):
        assert list(found[size]) == ["shadow", "non_shadow", "all"]
        assert all(set(region) == keys for region in found[size].values())
    assert [picture["name"] for picture in found["pictures"]] == [f"photo{i}" for i in range(4)]
    first = found["pictures"][0]
    assert first["regions"]["shadow"]["pixels"] + first["regions"]["non_shadow"]["pixels"] == 256**2
    assert first["regions_native"]["all"]["pixels"] == first["width"] * first["height"] == 160 * 120
    assert found["problems"] == []


def test_native_figures_are_those_of_the_files(scenes: Path) -> None:
    found = figures(scenes, Comparison(["input"]))
    picture, mask, clean = scene(seed=2)
    shadow = found["pictures"][2]["regions_native"]["shadow"]
    assert shadow["lab_mae"] == pytest.approx(lab_difference(picture, clean, mask > 0))
    assert found["regions_native"]["non_shadow"]["lab_mae"] == 0
    assert found["sharpness_native"] < 0.9


def test_order_workers_and_repetition_change_nothing(scenes: Path, exported: Path) -> None:
    samples = find(scenes).samples

    def table(workers: int, samples: tuple[Any, ...]) -> str:
        [method] = build_methods(Comparison(weights=[str(exported)], steps=["2"], seed=3))
        found = as_dict(evaluate_method(method, samples, workers=workers))
        for timed in (found, *found["pictures"]):
            timed.pop("seconds_per_picture", None)
            timed.pop("seconds", None)
        return json.dumps(found)

    expected = table(1, samples)
    assert table(3, samples) == expected
    assert table(2, samples[::-1]) == expected


def test_another_seed_gives_another_result(scenes: Path, exported: Path) -> None:
    one, other = (
        figures(scenes, Comparison(weights=[str(exported)], steps=["1"], seed=seed), limit=1)
        for seed in (0, 1)
    )
    assert one["regions"]["all"]["lab_mae"] != other["regions"]["all"]["lab_mae"]


def test_what_is_out_of_the_ordinary_is_scored_and_counted(tmp_path: Path) -> None:
    write_scenes(tmp_path, 2)
    picture, mask, clean = scene(seed=2)
    write_triplet(tmp_path, "empty", clean, 0 * mask, clean)
    write_triplet(tmp_path, "full", picture, np.full_like(mask, 255), clean)
    write_triplet(tmp_path, "grey", picture[..., 0], mask, clean[..., 0])
    write_triplet(tmp_path, "cropped", picture, mask, clean[:50])
    write_triplet(tmp_path, "broken", picture, mask, clean)
    (tmp_path / "shadow/broken.png").write_bytes(b"no picture")
    write_triplet(tmp_path, "damaged", picture, mask, clean)
    damaged = tmp_path / "shadow_free/damaged.png"
    data = bytearray(damaged.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 400] = bytes(400)
    damaged.write_bytes(bytes(data))
    for name in ("input", "gain", "lab"):
        found = figures(tmp_path, Comparison([name]))
        assert found["images"] == 5
        assert found["counts"] == {
            "empty_masks": 1,
            "full_masks": 1,
            "grey": 1,
            "resized_results": 0,
            "problems": 3,
        }
        files = " ".join(problem["file"] for problem in found["problems"])
        assert all(name in files for name in ("cropped", "broken", "damaged"))
        by_name = {each["name"]: each["regions"] for each in found["pictures"]}
        assert set(by_name["empty"]["shadow"].values()) == {0, None}
        assert set(by_name["full"]["non_shadow"].values()) == {0, None}
        assert np.isfinite(list(found["regions"]["shadow"].values())).all()
        format_evaluations(run(tmp_path, Comparison([name])), {})  # which refuses what JSON has no word for


def test_results_from_elsewhere_are_found_by_name_in_any_format_and_size(
    scenes: Path, tmp_path: Path
) -> None:
    for seed in range(4):
        _, _, clean = scene(seed=seed)
        image = Image.fromarray(clean)
        image = image.resize((256, 256), Image.Resampling.BICUBIC) if seed == 0 else image
        image.save(tmp_path / f"photo{seed}.{('png', 'tif')[seed % 2]}")
    found = figures(scenes, Comparison(results=[str(tmp_path)]))
    assert found["method"] == tmp_path.name
    assert found["counts"]["resized_results"] == 1
    assert found["seconds_per_picture"] is None
    assert found["regions"]["all"]["lab_mae"] < 1
    assert found["pictures"][1]["regions_native"]["all"]["lab_mae"] == 0
    (tmp_path / "photo2.png").unlink()
    found = figures(scenes, Comparison(["mine"], results=[f"mine={tmp_path}"]))
    assert found["images"] == 3
    assert "no result named photo2" in found["problems"][0]["reason"]


def test_instances_are_scored_inside_outside_and_in_the_other_shadows(tmp_path: Path) -> None:
    picture, mask, clean = scene()
    labels = np.where(mask > 0, np.where(np.arange(160) < 80, 1, 2), 0).astype(np.uint8)
    for part, pixels in (("ShadowImage", picture), ("DeshadowedImage", clean), ("ShadowMask", labels)):
        (tmp_path / "set" / part).mkdir(parents=True)
        Image.fromarray(pixels).save(tmp_path / "set" / part / "a.png")
    untouched = figures(tmp_path / "set", Comparison(["input"]))
    assert untouched["images"] == 2
    assert untouched["instances"]["outside"] == untouched["instances"]["others"] == 0
    assert untouched["instances"]["inside"] > 10
    (tmp_path / "results").mkdir()
    for label in (1, 2):  # both shadows removed, though one was asked for
        Image.fromarray(clean).save(tmp_path / f"results/a_{label}.png")
    greedy = figures(tmp_path / "set", Comparison(results=[str(tmp_path / "results")]))
    assert greedy["instances"]["inside"] == 0
    assert greedy["instances"]["others"] > greedy["instances"]["outside"] > 0


def test_a_limit_takes_pictures_from_all_over_the_set(scenes: Path) -> None:
    assert [sample.name for sample in choose_samples(find(scenes), 2)] == ["photo0", "photo3"]
    assert len(choose_samples(find(scenes), 99)) == 4
    with pytest.raises(ValueError, match="at least 1 is needed"):
        choose_samples(find(scenes), 0)


class Page(HTMLParser):
    """Collects what a page asks for, and checks that its elements close."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.images: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]
        if tag == "img":
            assert attributes["alt"]
            self.images.append(attributes["src"] or "")
        if tag not in ("img", "meta", "circle", "path", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("circle", "path"):
            assert self.open.pop() == tag


def test_the_report_is_one_file_that_asks_for_nothing(scenes: Path, tmp_path: Path) -> None:
    run(scenes, Comparison(["input", "gain"]), Outputs(report=tmp_path / "report"))
    assert [path.name for path in (tmp_path / "report").iterdir()] == ["index.html"]
    text = (tmp_path / "report/index.html").read_text()
    page = Page(text)
    assert page.open == []
    assert len(page.images) == 2 * 4 * 5  # two methods, four pictures, five views
    assert all(link.startswith("data:image/webp;base64,") for link in page.links)
    assert not re.search(r"https?://|@import|<script|<link", text)
    assert text.count(" †</th>") == 2
    assert "their masks are not" in re.sub(r"\s+", " ", text)


def test_names_are_escaped_in_the_report(tmp_path: Path) -> None:
    write_triplet(tmp_path / "set", "a<b>&c", *scene())
    run(tmp_path / "set", Comparison(["gain"]), Outputs(report=tmp_path / "report"))
    text = (tmp_path / "report/index.html").read_text()
    assert "a&lt;b&gt;&amp;c" in text
    assert "a<b>" not in text
    assert Page(text).open == []


def test_the_command_prints_a_table_in_80_columns_and_says_what_was_left_out(tmp_path: Path) -> None:
    write_scenes(tmp_path, 3)
    (tmp_path / "shadow_free/photo1.png").write_bytes(b"")
    ended = deshadow(tmp_path, "--compare", "input, gain,lab")
    assert (ended.returncode, ended.stderr) == (0, "")
    lines = ended.stdout.splitlines()
    tables = [line for line in lines if not line.startswith("problem")]
    assert max(map(len, tables)) <= 80
    assert [line.split()[0] for line in lines[3:6]] == ["input", "gain", "lab"]
    assert "2 pictures, 1 left out" in lines
    assert [line for line in lines if line.startswith("problem: ") and "photo1.png" in line]


def test_models_need_no_torch_where_there_are_graphs(scenes: Path, exported: Path) -> None:
    code = """
from deshadow.cli.app import main
main(["evaluate", sys.argv[1], "--compare", "input,mine", "--weights", f"mine={sys.argv[2]}", "--limit", "1"])
assert sys.modules["torch"] is None
"""
    command = [sys.executable, "-c", WITHOUT_TORCH + code, str(scenes), str(exported)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.stderr == ""
    assert re.search(r"^mine +1\.\d\d +\d", ended.stdout, re.MULTILINE)  # its parameters in millions


def test_a_name_of_a_published_method_wants_a_model_of_its_kind(tmp_path: Path) -> None:
    path = tmp_path / "small.safetensors"
    save_model(path, random_model(ModelConfig(SMALL, SMALL)))
    with pytest.raises(
        ValueError, match="palette is a model whose denoiser sees picture and has no guidance"
    ):
        build_methods(Comparison(weights=[f"palette={path}"]))
    with pytest.raises(ValueError, match="repaint needs a model that was trained for it"):
        build_methods(Comparison(["repaint"]))


def test_a_path_may_have_an_equals_sign(tmp_path: Path) -> None:
    folder = tmp_path / "run=3"
    folder.mkdir()
    save_model(folder / "small.safetensors", random_model(ModelConfig(SMALL, SMALL)))
    for weights, name in (
        (str(folder / "small.safetensors"), "small"),
        (f"a={folder}/small.safetensors", "a"),
    ):
        [method] = build_methods(Comparison(weights=[weights]))
        assert method.name == name
    with pytest.raises(ValueError, match="have one name"):
        build_methods(Comparison(weights=["a=x", "a=y"]))


@pytest.mark.parametrize("mode", ["quick", "removal"])
def test_the_whole_path_leaves_what_lies_far_from_the_shadow(mode: Any, tmp_path: Path) -> None:
    path = tmp_path / "small.safetensors"
    save_model(path, random_model(ModelConfig(SMALL, SMALL)))
    (method,) = build_methods(Comparison(weights=[str(path)], mode=mode))
    picture, _, _ = scene(200, 300)
    mask = np.zeros((200, 300), np.uint8)
    mask[:20, :20] = 255
    result = method.remove(give(picture, mask))
    assert (result[60:] == picture[60:]).all()
    assert (result[:10, :10] != picture[:10, :10]).any()
    assert method.note == f"{mode}: correction prediction, 1 step"


@pytest.mark.parametrize("mode", ["quick", "removal"])
@pytest.mark.parametrize("masks", ["given", "dilated", "detected"])
def test_a_protected_shadow_is_not_touched(mode: Any, masks: str, tmp_path: Path) -> None:
    path = tmp_path / "small.safetensors"
    save_model(path, random_model(ModelConfig(SMALL, SMALL)))
    (method,) = build_methods(Comparison(weights=[str(path)], mode=mode, device="cpu"))
    picture, _, _ = scene(200, 300)
    mask, protected = np.zeros((200, 300), np.uint8), np.zeros((200, 300), bool)
    mask[60:120, 60:120] = 255
    protected[60:120, 124:180] = True
    if masks == "dilated":
        method = replace_masks(method, lambda _, true: degrade_mask(true, "dilated"), "")
    elif masks == "detected":  # both shadows
        method = replace_masks(method, lambda picture, true: np.full_like(true, 255), "")
    result = method.remove(give(picture, mask, protected=protected))
    assert (result[protected] == picture[protected]).all()
    assert (result[mask > 0] != picture[mask > 0]).any()
    assert (result[60:120, 120:124] != picture[60:120, 120:124]).any()  # the mask was dilated up to it


def test_steps_can_be_given_for_one_model(tmp_path: Path) -> None:
    path = tmp_path / "small.safetensors"
    save_model(path, random_model(ModelConfig(SMALL, SMALL)))
    comparison = Comparison(weights=[f"a={path}", f"b={path}"], steps=["2", "b=7"], device="cpu")
    assert [method.note[-7:] for method in build_methods(comparison)] == ["2 steps", "7 steps"]


def test_lpips_gets_pictures_from_minus_one_to_one(scenes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = ModuleType("lpips")

    class Distance:
        def __init__(self, net: str, verbose: bool) -> None:
            assert net == "alex"

        def eval(self) -> "Distance":
            return self

        def __call__(self, result: Any, truth: Any) -> Any:
            assert result.shape == truth.shape == (1, 3, 256, 256)
            assert -1 <= truth.min() < -0.5 < 0.5 < truth.max() <= 1
            return (result - truth).abs().mean()

    stand_in.LPIPS = Distance  # type: ignore[attr-defined]
    stand_in.__spec__ = pytest.__spec__
    monkeypatch.setitem(sys.modules, "lpips", stand_in)
    found = figures(scenes, Comparison(["input"]), lpips=True)
    assert found["lpips"] == pytest.approx(np.mean([each["lpips"] for each in found["pictures"]]))
    assert found["lpips"] > 0.01


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--compare", "input", "--mask", "detected", "--detector", "sun"], "no weights 'sun'"),
        (["--detection", "--detector", "sun"], "no weights 'sun'"),
        (["--detection", "--compare", "input"], "scores the detector alone"),
        (["--detection", "--report", "there"], "cannot be combined with --detection"),
        (["--weights", "x.safetensors", "--mode", "quick"], "no checkpoint at x.safetensors"),
        (["--compare", "input", "--seed", "-1"], "must not be negative"),
        (["--compare", "input,sunny"], "no weights 'sunny'"),
        (["--compare", "input,input"], "named twice"),
        (["--compare", "input", "--steps", "many"], "write a number, or NAME=NUMBER"),
        (["--compare", "input", "--steps", "gain=3"], "no method 'gain' is compared"),
        (["--results", "missing"], "missing is not a folder"),
        (["--compare", "input", "--workers", "0"], "at least 1 is needed"),
        (["--compare", "input", "--json", "figures.txt"], "ends in .json"),
        (["--compare", "input", "--split", "val"], "no split 'val'"),
        (["--compare", "input", "--lpips"], "pip install lpips"),
        (["--device", "meta"], "torch cannot compute on the device 'meta'"),
        (["--detection", "--device", "meta"], "torch cannot compute on the device 'meta'"),
        (["--mode", "quick", "--latent", "mean"], "--latent mean needs --mode network"),
    ],
)
def test_what_a_user_gets_wrong_is_one_sentence(
    scenes: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from deshadow.cli.app import main

    with pytest.raises(SystemExit) as ended:
        main(["evaluate", str(scenes), *arguments])
    assert ended.value.code == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("deshadow: ")
    assert said.err.count("\n") == 1
    assert message in said.err


def test_nothing_is_written_into_the_data_set(scenes: Path) -> None:
    for outputs in (Outputs(json=scenes / "a.json"), Outputs(report=scenes / "report")):
        with pytest.raises(ValueError, match="lies in the data set"):
            run(scenes, Comparison(["input"]), outputs)
    assert sorted(path.name for path in scenes.iterdir()) == ["mask", "shadow", "shadow_free"]
