import json
import re
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from scenes import give, scene, write_scenes

from deshadow.data.pairs.find import find
from deshadow.diffusion.arrays import Array
from deshadow.evaluation import detectors
from deshadow.evaluation.degraded_masks import degrade_mask
from deshadow.evaluation.methods import Input, Method, replace_masks
from deshadow.evaluation.options import Comparison, MaskKind, Outputs
from deshadow.evaluation.run import _mask_source, run, run_detector
from deshadow.image.resize import bicubic, nearest
from deshadow.nn.config import DETECTORS, DetectorConfig


class Dark:
    """A detector that takes the darker part of any picture for shadow."""

    config: DetectorConfig = DETECTORS["detector-tiny"]
    device = "cpu"

    def __call__(self, picture: Array) -> Array:
        assert picture.shape[:2] == (1, 3)
        dark: Array = (1 - picture.mean(1)[:, None]) / 2
        return dark


@pytest.fixture
def scenes(tmp_path: Path) -> Path:
    write_scenes(tmp_path / "set", 3)
    return tmp_path / "set"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deshadow.evaluation.run.open_detector", lambda name, device, runtime: Dark())


def test_the_mask_that_is_found_is_of_the_picture_at_256() -> None:
    picture, _, _ = scene(120, 200)
    mask = detectors.detect_mask(Dark(), picture)
    expected = bicubic(picture, 256, 256).mean(axis=2) < 127.5
    assert np.mean((mask == 255) == expected) > 0.999
    assert set(np.unique(mask)) == {0, 255}


def test_detected_masks_leave_out_what_the_command_would_leave_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_dark(picture: Array) -> Array:
        """Whatever is dark, but a black thing only where it is black: not in a brighter copy."""
        assert isinstance(picture, np.ndarray)
        light = picture.mean(axis=1, keepdims=True)
        found: Array = ((light < 0.1) & ~((light > -0.85) & (light < -0.6))).astype(np.float32)
        return found

    monkeypatch.setattr("deshadow.evaluation.run.open_detector", lambda *_, **__: find_dark)
    picture = np.full((240, 320, 3), 220, np.uint8)
    picture[80:160, 40:120] = 90
    picture[80:160, 200:280] = 15
    found = _mask_source("detected", "detector", Comparison())(picture, picture[..., 0])
    assert found.shape == (240, 320)
    assert set(np.unique(found)) == {0, 255}
    assert (found[90:150, 50:110] == 255).all()
    assert not found[:, 180:].any()


def test_a_method_gets_the_found_mask_at_the_size_of_the_true_one() -> None:
    picture, mask, _ = scene(120, 200)
    given: list[np.ndarray] = []

    def remove(given_input: Input) -> np.ndarray:
        given.append(given_input.mask)
        return given_input.picture

    method = replace_masks(
        Method("spy", remove), lambda picture, _: detectors.detect_mask(Dark(), picture), ""
    )
    method.remove(give(picture, mask))
    assert np.array_equal(given[0], nearest(detectors.detect_mask(Dark(), picture), 120, 200))
    assert not np.array_equal(given[0], mask)


def test_the_pixels_of_a_set_are_pooled_and_those_of_each_picture_are_kept(scenes: Path) -> None:
    found = detectors.evaluate_detector(Dark(), find(scenes).samples)
    expected = []
    for sample in find(scenes).samples:
        picture, mask, _ = sample.load()
        expected.append((detectors.detect_mask(Dark(), picture) > 0, nearest(mask, 256, 256) > 0))
    both = sum(int((taken & truth).sum()) for taken, truth in expected)
    either = sum(int((taken | truth).sum()) for taken, truth in expected)
    figures = detectors.summarise(found)
    assert figures["iou"] == pytest.approx(both / either)
    one_by_one = [(taken & truth).sum() / (taken | truth).sum() for taken, truth in expected]
    assert figures["iou_per_picture"] == pytest.approx(np.mean(one_by_one))
    assert figures["balanced_error_rate"] == pytest.approx(
        (figures["false_negative_rate"] + figures["false_positive_rate"]) / 2
    )


@pytest.mark.usefixtures("opened")
def test_detection_is_written_and_what_cannot_be_read_is_named(scenes: Path, tmp_path: Path) -> None:
    (scenes / "mask/photo1.png").write_bytes(b"")
    run_detector(scenes, outputs=Outputs(json=tmp_path / "found.json"))
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["images"] == len(found["pictures"]) == 2
    assert len(found["problems"]) == 1
    assert found["parameters"] == pytest.approx(0.14e6, rel=0.01)
    assert 0 < found["pictures"][0]["iou"] < 1


@pytest.mark.usefixtures("opened")
def test_removal_with_detected_masks_is_scored_in_the_true_regions(scenes: Path, tmp_path: Path) -> None:
    for mask in get_args(MaskKind):
        run(scenes, Comparison(["input", "gain"]), Outputs(json=tmp_path / f"{mask}.json"), mask=mask)
    given, detected = (json.loads((tmp_path / f"{mask}.json").read_text()) for mask in ("given", "detected"))
    assert (given["mask"], detected["mask"]) == ("given", "detected")
    (untouched, gain), (found_untouched, found_gain) = given["methods"], detected["methods"]
    assert untouched["regions"] == found_untouched["regions"]
    assert gain["regions"]["shadow"]["lab_mae"] < found_gain["regions"]["shadow"]["lab_mae"]


@pytest.mark.usefixtures("opened")
def test_the_command_prints_one_row(scenes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from deshadow.cli.app import main

    with pytest.raises(SystemExit, match="0"):
        main(["evaluate", str(scenes), "--detection"])
    said = capsys.readouterr().out
    assert re.search(r"^ *0\.\d{3} +0\.\d{3} +\d+\.\d\d", said, re.MULTILINE)
    assert "3 pictures" in said


def test_degraded_masks_are_wider_narrower_or_the_box_by_eight_pixels() -> None:
    mask = np.zeros((256, 256), np.uint8)
    mask[100:140, 50:80] = 255
    mask[120:, 200:230] = 255

    assert np.flatnonzero(degrade_mask(mask, "dilated")[110])[[0, -1]].tolist() == [42, 87]
    assert np.flatnonzero(degrade_mask(mask, "eroded")[110])[[0, -1]].tolist() == [58, 71]
    assert degrade_mask(mask, "eroded")[255, 215] == 255  # the frame is no edge of the shadow
    box = np.zeros_like(mask)
    box[100:256, 50:230] = 255
    np.testing.assert_array_equal(degrade_mask(mask, "boxed"), box)
    np.testing.assert_array_equal(degrade_mask(0 * mask, "boxed"), 0 * mask)
