"""AISTD made from ISTD."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from deshadow.cli.app import main
from deshadow.data.pairs.aistd import adjust_colours, adjust_folder, fit_colours
from deshadow.data.pairs.find import find

Pixels = NDArray[np.uint8]
GAIN, OFFSET = np.array([0.8, 0.9, 1.1]), np.array([0.05, -0.02, 0.01])


def tinted(seed: int = 0) -> tuple[Pixels, Pixels, Pixels]:
    """A pair whose clean picture was taken under other light than the picture."""
    clean = np.random.default_rng(seed).integers(40, 200, (60, 80, 3), dtype=np.uint8)
    wanted = (clean * GAIN + 255 * OFFSET).round().astype(np.uint8)
    mask = np.zeros((60, 80), np.uint8)
    mask[20:50, 10:60] = 255
    return np.where(mask[..., None] > 0, wanted // 3, wanted), mask, clean


def write_istd(folder: Path, names: dict[str, list[str]]) -> None:
    for split, stems in names.items():
        for seed, stem in enumerate(stems):
            for part, pixels in zip("ABC", tinted(seed), strict=True):
                path = folder / split / f"{split}_{part}" / f"{stem}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(pixels).save(path)


def test_known_gain_and_offset_are_recovered() -> None:
    gain, offset = fit_colours(*tinted())
    np.testing.assert_allclose(gain, GAIN, atol=0.005)
    np.testing.assert_allclose(offset, OFFSET, atol=0.005)


def test_fit_is_least_squares() -> None:
    picture, mask, clean = tinted()
    picture = np.roll(picture, 3, axis=1)
    gain, offset = fit_colours(picture, mask, clean)
    for channel in range(3):
        source, target = (view[mask == 0][:, channel] / 255 for view in (clean, picture))
        np.testing.assert_allclose(np.polyfit(source, target, 1), [gain[channel], offset[channel]])


def test_the_whole_picture_is_adjusted() -> None:
    picture, mask, clean = tinted()
    adjusted = adjust_colours(picture, mask, clean)
    wanted = clean * GAIN + 255 * OFFSET
    assert np.abs(adjusted - wanted).max() <= 1.5  # under the mask too


def test_a_channel_without_variation_is_shifted() -> None:
    clean = np.full((8, 8, 3), 100, np.uint8)
    adjusted = adjust_colours(np.full((8, 8, 3), 120, np.uint8), np.zeros((8, 8), np.uint8), clean)
    assert (adjusted == 120).all()


def test_folder_is_written_as_aistd_and_read_again(tmp_path: Path) -> None:
    write_istd(tmp_path / "istd", {"train": ["1-1", "1-2"], "test": ["2-1"]})
    count, before, after, problems = adjust_folder(tmp_path / "istd", tmp_path / "new/aistd")
    assert (count, problems) == (3, [])
    assert after < 0.6 < 5 < before
    assert (tmp_path / "new/aistd/train/train_C_fixed_official/1-2.png").is_file()
    found = find(tmp_path / "new/aistd", split="test")
    assert found.layout == "aistd"
    picture, mask, clean = tinted()
    got = found[0].load()
    np.testing.assert_array_equal(got.picture, picture)
    np.testing.assert_array_equal(got.mask, mask)
    np.testing.assert_array_equal(got.clean, adjust_colours(picture, mask, clean))
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["aistd"]


@pytest.mark.parametrize("output", ["istd", "istd/adjusted", "."])
def test_input_is_never_written_to(tmp_path: Path, output: str) -> None:
    write_istd(tmp_path / "istd", {"train": ["1-1"]})
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ValueError, match="overlaps"):
        adjust_folder(tmp_path / "istd", tmp_path / output)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_filled_folder_is_not_replaced(tmp_path: Path) -> None:
    write_istd(tmp_path / "istd", {"train": ["1-1"]})
    (tmp_path / "out").mkdir()
    adjust_folder(tmp_path / "istd", tmp_path / "out")
    with pytest.raises(ValueError, match="exists already"):
        adjust_folder(tmp_path / "istd", tmp_path / "out")


def test_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    write_istd(tmp_path / "istd", {"train": ["1-1", "1-2"]})
    Image.new("L", (80, 60), 255).save(tmp_path / "istd/train/train_B/1-2.png")
    with pytest.raises(ValueError, match="covers the whole picture"):
        adjust_folder(tmp_path / "istd", tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["istd"]
    count, _, _, problems = adjust_folder(tmp_path / "istd", tmp_path / "out", skip_problems=True)
    assert (count, len(problems)) == (1, 1)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_istd(tmp_path / "istd", {"train": ["1-1"]})
    with pytest.raises(SystemExit) as left:
        main(["data", "adjust", str(tmp_path / "istd"), "-o", str(tmp_path / "out")])
    assert not left.value.code
    assert capsys.readouterr().out.startswith(f"{tmp_path / 'out'}: pairs 1; mean difference")
