"""What may not be a shadow is left out of an automatic removal, and named; whatever is selected goes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracles import Oracle, find_darker, lighten
from PIL import Image
from skimage import data

import deshadow
from deshadow.cli import app
from deshadow.diffusion.arrays import Array
from deshadow.image.colour import round_to_8_bits
from deshadow.photo import read_photo
from deshadow.removal import remover as removers
from deshadow.removal.options import RemovalOptions, Sensitivity
from deshadow.removal.remover import Remover

SHADOW, THING = np.s_[100:220, 60:180], np.s_[100:220, 260:320]


def find_dark(picture: Array) -> Array:
    """A detector that finds what is darker than the rest, but a black thing only in a dark picture."""
    assert isinstance(picture, np.ndarray)
    light = (picture.mean(axis=1, keepdims=True) + 1) / 2
    grey = (light > 0.1) & (light < 0.38)
    found: Array = np.where(grey, np.float32(0), find_darker(picture))
    return found


def scene(size: int = 1) -> np.ndarray:
    """(300, 400, 3): a shadow on light ground, and a black thing."""
    picture = np.full((300, 400, 3), 0.8, np.float32)
    picture[SHADOW], picture[THING] = 0.4, 0.05
    return picture.repeat(size, axis=0).repeat(size, axis=1)


@pytest.fixture
def remover(monkeypatch: pytest.MonkeyPatch) -> Remover:
    """The one that the library and the command line use as well."""
    remover = Remover(Oracle(lighten((0.25, 0.28, 0.34))), find_dark)  # type: ignore[arg-type]
    monkeypatch.setattr(removers, "_SHIPPED", remover)
    monkeypatch.setattr(removers, "Remover", lambda *_, **__: remover)
    return remover


def choose(remover: Remover, picture: np.ndarray, **options: Any) -> tuple[bool, bool, int]:
    """Whether the shadow and the thing are selected, and how many are left out."""
    selection = remover.select(picture, None, RemovalOptions(**options))
    assert selection.found == 2
    mask, size = selection.mask > 0, len(picture) // 300
    shadow, thing = (mask[160 * size, x * size] for x in (120, 290))
    if not thing:
        assert selection.protected is not None
        assert selection.protected[160 * size, 290 * size]
    return bool(shadow), bool(thing), selection.left_out


@pytest.mark.parametrize("size", [1, 5])
def test_a_dark_thing_is_left_out_unless_it_is_selected_or_nothing_is(remover: Remover, size: int) -> None:
    picture = scene(size)
    assert choose(remover, picture) == (True, False, 1)
    assert choose(remover, picture, sensitivity="high") == (True, True, 0)
    assert choose(remover, picture, at=(290 * size, 160 * size)) == (False, True, 0)
    assert choose(remover, picture, instance=2) == (False, True, 0)
    assert choose(remover, picture, exclude=2) == (True, False, 0)


def test_a_painted_dark_thing_is_removed(remover: Remover) -> None:
    painted = np.zeros((300, 400), np.float32)
    painted[THING] = 1
    result = removers.remove(scene(), painted)
    assert result[THING].mean() > scene()[THING].mean() + 0.05
    assert (result[SHADOW] == scene()[SHADOW]).all()


def test_the_surer_something_must_be_the_less_is_removed(remover: Remover) -> None:
    def find_half(picture: np.ndarray) -> np.ndarray:
        """Less sure where the picture is brighter."""
        found: np.ndarray = find_dark(picture) * np.float32(0.25 if np.median(picture) > 0.65 else 0.55)
        return found

    remover = Remover(Oracle(lighten((0.25, 0.28, 0.34))), find_half)  # type: ignore[arg-type]
    expected: dict[Sensitivity, tuple[bool, bool, int]] = {
        "low": (False, False, 2),
        "normal": (True, False, 1),
        "high": (True, True, 0),
    }
    for sensitivity, chosen in expected.items():
        assert choose(remover, scene(), sensitivity=sensitivity) == chosen


def test_high_sensitivity_finds_what_is_less_probable() -> None:
    def find_faintly(picture: np.ndarray) -> np.ndarray:
        found: np.ndarray = find_darker(picture) * np.float32(0.35)
        return found

    remover = Remover(detector=find_faintly)  # type: ignore[arg-type]
    assert remover.find_shadows(scene()).max() == 0
    assert remover.find_shadows(scene(), "high").max() == 2


@pytest.mark.parametrize(("width", "covers", "sure"), [(4, 300, True), (4, 30, False), (24, 300, False)])
def test_a_thin_shadow_that_covers_much_is_judged_where_it_shows(width: int, covers: int, sure: bool) -> None:
    def find_in_detail(picture: np.ndarray) -> np.ndarray:
        """What is dark, but little of it in a small copy that is brighter."""
        small_and_bright = picture.shape[3] <= 256 and np.median(picture) > 0.65
        found: np.ndarray = find_darker(picture) * np.float32(0.1 if small_and_bright else 0.9)
        return found

    picture = np.full((300, 400, 3), 0.8, np.float32)
    for left in range(40, 360, 48):  # bars, joined at their ends
        picture[:covers, left : left + width] = 0.4
    picture[:width, 40 : 328 + width] = 0.4
    remover = Remover(detector=find_in_detail)  # type: ignore[arg-type]
    labels = remover.find_shadows(picture)
    assert labels.max() == 1
    assert remover.find_unsure(picture, labels) == (() if sure else (1,))


def test_a_long_photo_is_judged_part_by_part(remover: Remover) -> None:
    lit = np.full((300, 2000, 3), 0.8, np.float32)
    picture = np.concatenate([scene(), lit, scene()], axis=1)
    labels = remover.find_shadows(picture)
    unsure = remover.find_unsure(picture, labels, "low")
    assert labels.max() == 4
    assert set(unsure) == {labels[160, 290], labels[160, 2690]}


def test_the_look_for_certainty_at_a_long_photo_sees_parts_as_small_as_a_photo() -> None:
    longest: list[int] = []

    def spy(picture: np.ndarray) -> np.ndarray:
        longest.append(max(picture.shape[2:]))
        found: np.ndarray = find_darker(picture)
        return found

    picture = np.full((300, 1200, 3), 0.8, np.float32)
    picture[100:220, 60:180] = 0.4
    remover = Remover(detector=spy)  # type: ignore[arg-type]
    labels = remover.find_shadows(picture)
    assert max(longest) > 256
    longest.clear()
    assert remover.find_unsure(picture, labels) == ()
    assert set(longest) == {256}


def test_the_command_says_what_it_left_out_and_how_to_remove_it(
    remover: Remover, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    photo, result = tmp_path / "photo.png", tmp_path / "out.png"
    codes = round_to_8_bits(scene())
    Image.fromarray(codes).save(photo)

    def run(*flags: str) -> tuple[str, dict[str, Any]]:
        report = tmp_path / "report.json"
        with pytest.raises(SystemExit, match="0"):
            app.main([str(photo), "-o", str(result), "--json", str(report), *flags])
        (entry,) = json.loads(report.read_text())["photos"]
        return capsys.readouterr().err, entry

    note = "left out 1 dark area that may not be a shadow; --sensitivity high removes it too"
    said, entry = run()
    assert note in said
    assert (entry["state"], entry["shadows"], entry["left_out"]) == ("done", 2, 1)
    assert entry["notes"] == [note]
    assert (np.asarray(Image.open(result))[THING] == codes[THING]).all()
    said, entry = run("--sensitivity", "high")
    assert not said
    assert (entry["shadows"], entry["left_out"], entry["notes"]) == (2, 0, [])
    assert (np.asarray(Image.open(result))[THING] > codes[THING]).all()


def test_a_photo_with_nothing_sure_stays_as_it_is(
    remover: Remover, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = scene()
    picture[SHADOW] = 0.05
    photo, result = tmp_path / "photo.png", tmp_path / "out.png"
    Image.fromarray(round_to_8_bits(picture)).save(photo)
    with pytest.raises(SystemExit, match="0"):
        app.main([str(photo), "-o", str(result)])
    printed = capsys.readouterr()
    assert f"no certain shadow found, so this is {photo} unchanged" in printed.out
    assert "left out 2 dark areas that may not be shadows; --sensitivity high removes them too" in printed.err
    assert result.read_bytes() == photo.read_bytes()


def test_detect_marks_what_may_not_be_a_shadow(
    remover: Remover, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    photo = tmp_path / "photo.png"
    Image.fromarray(round_to_8_bits(scene())).save(photo)
    for flags, marked in (([], True), (["--sensitivity", "high"], False)):
        with pytest.raises(SystemExit):
            app.main(["detect", str(photo), "-o", str(tmp_path / "mask.png"), *flags])
        lines = capsys.readouterr().out.splitlines()
        assert not lines[1].endswith("(may not be a shadow)")
        assert lines[2].endswith("(may not be a shadow)") == marked


@pytest.mark.parametrize("name", ["lawn", "page", "pavement"])
def test_the_shipped_detector_is_sure_of_the_shadows_in_the_examples(name: str) -> None:
    pixels = read_photo(Path(deshadow.__file__).parent / f"examples/{name}.jpg").pixels
    remover = Remover()
    labels = remover.find_shadows(pixels)
    kept = ~np.isin(labels, remover.find_unsure(pixels, labels))
    assert (kept & (labels > 0)).sum() > 0.9 * (labels > 0).sum()


def test_the_shipped_detector_finds_the_shadow_of_a_cup_and_not_the_cup() -> None:
    picture = data.coffee().astype(np.float32) / np.float32(255)
    mask = Remover().select(picture).mask
    assert mask[290:330, 240:300].mean() > 0.9  # on the saucer, under the handle
    assert mask[100:200, 200:400].mean() < 0.05  # the cup and the coffee in it


@pytest.mark.parametrize("name", ["astronaut", "brick", "chelsea", "grass", "gravel", "rocket", "text"])
def test_a_photo_without_shadows_stays_as_it_is(name: str) -> None:
    photo = getattr(data, name)()
    picture = photo if photo.ndim == 3 else np.stack([photo] * 3, axis=-1)
    # Of the clouds in the night sky behind the rocket it is a little too sure.
    options = RemovalOptions(sensitivity="low" if name == "rocket" else "normal")
    found = Remover().select(picture.astype(np.float32) / np.float32(255), options=options)
    assert not found.mask.any()
