"""Printed pages and posters as backgrounds for synthetic shadows."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from deshadow.data.synth.banks import load_backgrounds
from deshadow.data.synth.prints import DRAWERS, SIDE, draw_print, main


def test_pages_are_bright_paper_with_dark_print() -> None:
    for number in range(8):
        grey = np.asarray(draw_print("pages", number).convert("L")).astype(float)
        paper = np.percentile(grey, 95)
        assert paper > 130
        assert 0.01 < (grey < 0.7 * paper).mean() < 0.6


def test_posters_are_plain_colours_and_some_of_them_dark() -> None:
    posters = [np.asarray(draw_print("posters", number)).astype(float) for number in range(24)]
    steps = np.concatenate([np.abs(np.diff(poster, axis=1)).max(axis=-1).ravel() for poster in posters])
    assert np.percentile(steps, 80) < 8  # of 255: plain, but for some grain
    assert (steps > 30).mean() > 0.002  # edges of shapes
    colourful = [np.ptp(poster.mean(axis=(0, 1))) > 25 for poster in posters]
    dark = [(poster.max(axis=-1) < 60).mean() > 0.02 for poster in posters]
    assert 6 <= sum(colourful) < 24
    assert 6 <= sum(dark) < 24


@pytest.mark.parametrize("kind", DRAWERS)
def test_the_command_writes_backgrounds_that_are_always_the_same(kind: str, tmp_path: Path) -> None:
    for folder in ("one", "other"):
        main([kind, str(tmp_path / folder), "3"])
    prints = [
        [np.asarray(Image.open(path)) for path in sorted((tmp_path / folder).iterdir())]
        for folder in ("one", "other")
    ]
    assert [each.shape for each in prints[0]] == 3 * [(SIDE, SIDE, 3)]
    assert all((each == again).all() for each, again in zip(*prints, strict=True))
    assert (prints[0][0] != prints[0][1]).any()
    assert load_backgrounds(tmp_path / "one", 64).shape == (3, 3, 64, 64)


@pytest.mark.parametrize(
    "arguments", [[], ["pages", "folder"], ["pages", "folder", "many"], ["books", "folder", "3"]]
)
def test_other_arguments_print_what_is_expected(arguments: list[str]) -> None:
    with pytest.raises(SystemExit, match="FOLDER COUNT"):
        main(arguments)
