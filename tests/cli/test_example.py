"""The first command of the README: a shadow is removed from a photo that ships."""

from pathlib import Path

import numpy as np
import pytest

from deshadow.cli.app import main
from deshadow.cli.example import EXAMPLES
from deshadow.photo import read_photo


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(["example", *words])
    return int(end.value.code or 0)


def test_the_shadow_of_the_example_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run() == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("example.jpg: ")
    assert lines[1].startswith("example.deshadowed.jpg: removed shadows from ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["example.deshadowed.jpg", "example.jpg"]
    before, after = (read_photo(tmp_path / name).pixels for name in ("example.jpg", "example.deshadowed.jpg"))
    lit, shaded = (slice(0, 150), slice(None)), (slice(540, 600), slice(0, 180))
    assert before[shaded].mean() < 0.6 * before[lit].mean()
    assert after[shaded].mean() == pytest.approx(after[lit].mean(), rel=0.12)


def test_a_photo_of_the_same_name_is_not_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "example.jpg").write_bytes(b"mine")
    assert run("-o", str(tmp_path)) == 2
    assert "exists already" in capsys.readouterr().err
    assert (tmp_path / "example.jpg").read_bytes() == b"mine"


def test_shipped_examples_are_small_photos() -> None:
    photos = sorted(EXAMPLES.glob("*.jpg"))
    assert len(photos) >= 3
    for path in photos:
        assert path.stat().st_size < 150_000
        photo = read_photo(path)
        assert min(photo.width, photo.height) >= 500
        assert np.ptp(photo.pixels) > 0.5
