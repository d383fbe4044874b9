"""Printed pages as backgrounds for synthetic shadows."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from deshadow.data.synth.banks import load_backgrounds
from deshadow.data.synth.pages import draw_page, main


def test_pages_are_bright_paper_with_dark_print() -> None:
    for number in range(8):
        grey = np.asarray(draw_page(np.random.default_rng(number)).convert("L")).astype(float)
        paper = np.percentile(grey, 95)
        assert paper > 130
        assert 0.01 < (grey < 0.7 * paper).mean() < 0.6


def test_the_command_writes_pages_that_are_backgrounds_and_always_the_same(tmp_path: Path) -> None:
    for folder in ("one", "other"):
        main([str(tmp_path / folder), "3"])
    pages = [
        [np.asarray(Image.open(path)) for path in sorted((tmp_path / folder).iterdir())]
        for folder in ("one", "other")
    ]
    assert all((page == again).all() for page, again in zip(*pages, strict=True))
    assert (pages[0][0] != pages[0][1]).any()
    assert load_backgrounds(tmp_path / "one", 64).shape == (3, 3, 64, 64)


@pytest.mark.parametrize("arguments", [[], ["folder"], ["folder", "many"]])
def test_other_arguments_print_what_is_expected(arguments: list[str]) -> None:
    with pytest.raises(SystemExit, match="FOLDER COUNT"):
        main(arguments)
