"""The HTTP API, the library and the command line give the same pixels with the shipped networks."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from serving import Served, decoded, encoded, parts, serving
from skimage.filters import gaussian

from deshadow.cli import app
from deshadow.removal import remover as removers
from deshadow.removal.remover import Remover

GAP = 8
"""Pixels between the two shadows."""
DILATE = 32
"""So far that the dilated mask of one shadow covers much of the other one."""


@pytest.fixture(scope="module")
def remover() -> Remover:
    return Remover(threads=1)


@pytest.fixture(scope="module")
def served(remover: Remover) -> Iterator[Served]:
    with serving(remover) as server:
        yield server


def draw_photo(width: int = 320, height: int = 240) -> NDArray[np.uint8]:
    """(H, W, 3): grainy ground with two shadows beside each other."""
    grain = np.random.default_rng(3).normal(150, 12, (height, width, 1))
    blocked = np.zeros((height, width, 1))
    blocked[60:180, 40 : 160 - GAP // 2] = 1
    blocked[80:200, 160 + GAP // 2 : 280] = 1
    soft = gaussian(blocked, 1, channel_axis=-1)
    light = (grain * [1, 0.95, 0.88] / 255) ** 2.2 * (1 - soft * [0.72, 0.7, 0.64])
    pixels: NDArray[np.uint8] = (light ** (1 / 2.2) * 255).round().astype(np.uint8)
    return pixels


@pytest.mark.parametrize("mode", ["quick", "removal"])
def test_one_of_two_shadows_goes_alike_everywhere_and_the_other_stays_to_the_last_level(
    served: Served, remover: Remover, mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    picture = draw_photo()
    labels = remover.find_shadows(picture.astype(np.float32) / np.float32(255))
    assert labels.max() == 2
    number = int(labels[120, 100])
    photo, painted = encoded(picture), encoded(np.where(labels == number, 255, 0).astype(np.uint8))
    choices = ({"instances": number}, {"points": "100,120"}, {"mask": painted})

    results = {"library": remover.remove(picture, at=(100, 120), mode=mode, dilate=DILATE)}
    results["library, mask"] = remover.remove(picture, labels == number, mode=mode, dilate=DILATE)
    for choice in choices:  # before and after the server knows the shadows of the photo
        name = next(iter(choice))
        answer = served.http.post("/api/remove", files=parts(file=photo, mode=mode, dilate=DILATE, **choice))
        results[f"one call, {name}"] = decoded(answer.content)
        job = served.wait(served.start(served.upload(photo)["id"], mode=mode, dilate=DILATE, **choice)["id"])
        results[f"job, {name}"] = served.result(job["id"])
    monkeypatch.setattr(removers, "Remover", lambda *_, **__: remover)
    Image.fromarray(picture).save(tmp_path / "photo.png")
    (tmp_path / "painted.png").write_bytes(painted)
    masked = ["--mask", str(tmp_path / "painted.png")]
    for flags in (["--at", "100,120"], ["--instance", str(number)], masked):
        out = tmp_path / f"{flags[0]}.png"
        how = ["--mode", mode, "--dilate", str(DILATE), *flags]
        with pytest.raises(SystemExit, match="0"):
            app.main([str(tmp_path / "photo.png"), "-o", str(out), *how])
        results[flags[0]] = decoded(out.read_bytes())

    changed = (results["library"] != picture).any(-1)
    assert changed[labels == number].mean() > 0.9
    assert not changed[(labels > 0) & (labels != number)].any()
    for name, result in results.items():
        assert (result == results["library"]).all(), name
