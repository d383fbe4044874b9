import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from deshadow.data.synth.banks import load_backgrounds, load_silhouettes
from deshadow.data.synth.procedural import draw_backgrounds, draw_occluders
from deshadow.data.synth.writing import write_triplets


def deshadow(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "deshadow", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)


@pytest.fixture
def sources(tmp_path: Path) -> tuple[Path, Path]:
    rng = np.random.default_rng(0)
    backgrounds, occluders = tmp_path / "backgrounds", tmp_path / "occluders.tar.gz"
    (backgrounds / "walls").mkdir(parents=True)
    for name, size in (("a.png", (40, 60)), ("walls/b.jpg", (80, 50))):
        Image.fromarray(rng.integers(90, 200, (*size, 3), dtype=np.uint8)).save(backgrounds / name)
    with tarfile.open(occluders, "w:gz") as archive:
        for name in ("one.png", "two.png"):
            shape = Image.new("L", (30, 50))
            shape.paste(255, (8, 5, 22, 50))
            data = io.BytesIO()
            shape.save(data, "PNG")
            info = tarfile.TarInfo(f"shapes/{name}")
            info.size = len(data.getvalue())
            archive.addfile(info, io.BytesIO(data.getvalue()))
    return backgrounds, occluders


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_the_command_writes_triplets_that_keep_the_promise(
    tmp_path: Path, sources: tuple[Path, Path]
) -> None:
    backgrounds, occluders = sources
    out = tmp_path / "out"
    done = deshadow(
        "synth", "--backgrounds", backgrounds, "--occluders", occluders, "--count", 5, "--size", 48,
        "--out", out, "--seed", 2, "--preset", "instances",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{out}: 5 triplets, 5 of them new\n"
    names = [f"{k:06d}.png" for k in range(5)]
    for folder in ("shadow", "mask", "shadow_free"):
        assert sorted(path.name for path in (out / folder).iterdir()) == names
    for name in names:
        shadow, mask, clean = (
            np.asarray(Image.open(out / folder / name)) for folder in ("shadow", "mask", "shadow_free")
        )
        assert shadow.shape == clean.shape == (48, 48, 3)
        assert set(np.unique(mask)) <= {0, 255}
        assert not ((shadow != clean).any(-1) & (mask == 0)).any()
        targets = list((out / "instances").glob(f"{name[:6]}_*_target.png"))
        assert len(targets) == 1
        assert not ((mask > 0) & (np.asarray(Image.open(targets[0])) == 0)).any()


def test_an_error_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "note.txt").write_text("mine")
    for arguments, words in (
        (("--count", 1, "--out", tmp_path / "full", "--size", 32), "not empty"),
        (("--count", 0, "--out", tmp_path / "new"), "--count"),
        (("--count", 1, "--out", tmp_path / "new", "--backgrounds", tmp_path / "nowhere"), "does not exist"),
    ):
        done = deshadow("synth", *arguments)
        assert done.returncode == 2
        assert words in done.stderr
        assert done.stderr.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full"]


def test_the_same_seed_gives_the_same_files_and_a_broken_run_goes_on(tmp_path: Path) -> None:
    backgrounds, occluders = draw_backgrounds(7, 32), draw_occluders(2, 32)
    assert write_triplets(tmp_path / "whole", backgrounds, occluders, 11) == 11
    assert write_triplets(tmp_path / "parts", backgrounds, occluders, 5) == 5
    (tmp_path / "parts" / "shadow" / "000002.png").unlink()
    assert write_triplets(tmp_path / "parts", backgrounds, occluders, 11) == 7
    assert contents(tmp_path / "whole") == contents(tmp_path / "parts")
    assert not list(tmp_path.rglob("*.part"))


def test_other_cameras_change_pictures_and_not_masks(tmp_path: Path) -> None:
    backgrounds, occluders = draw_backgrounds(7, 64), draw_occluders(2, 64)
    for name, responses in (("plain", 0.0), ("varied", 1.0)):
        write_triplets(tmp_path / name, backgrounds, occluders, 3, responses=responses)
    for folder, same in (("shadow", False), ("shadow_free", False), ("mask", True)):
        for number in range(3):
            one, other = (
                (tmp_path / name / folder / f"{number:06}.png").read_bytes() for name in ("plain", "varied")
            )
            assert (one == other) == same


def test_a_folder_of_other_settings_is_refused(tmp_path: Path) -> None:
    backgrounds, occluders = draw_backgrounds(7, 32), draw_occluders(2, 32)
    write_triplets(tmp_path / "out", backgrounds, occluders, 2, seed=1)
    before = contents(tmp_path / "out")
    with pytest.raises(ValueError, match="other settings"):
        write_triplets(tmp_path / "out", backgrounds, occluders, 4, seed=2)
    assert contents(tmp_path / "out") == before


def test_silhouettes_fill_the_square_and_stand_on_its_lower_edge(sources: tuple[Path, Path]) -> None:
    shapes = load_silhouettes(sources[1], 64)
    assert shapes.shape == (2, 1, 64, 64)
    rows = (shapes[0, 0] > 127).any(1).nonzero().flatten()
    assert rows[0] <= 3
    assert rows[-1] == 61
    assert not shapes[..., 0].any()
    assert not shapes[..., -1, :].any()


def test_the_opaque_part_of_a_cutout_is_its_silhouette(tmp_path: Path) -> None:
    cutout = Image.new("RGBA", (20, 20), (255, 255, 255, 0))
    cutout.paste((0, 0, 0, 255), (5, 0, 15, 20))
    cutout.save(tmp_path / "black.png")
    middle_row = load_silhouettes(tmp_path, 48)[0, 0, 24]
    assert middle_row[24] == 255
    assert middle_row[4] == 0


def test_backgrounds_are_the_middle_square(sources: tuple[Path, Path]) -> None:
    assert load_backgrounds(sources[0], 32).shape == (2, 3, 32, 32)
    assert load_backgrounds(sources[0], 32).dtype == torch.uint8


def test_what_is_no_picture_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.png").write_bytes(b"no picture")
    with pytest.raises(ValueError, match=r"broken\.png"):
        load_backgrounds(tmp_path, 32)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no pictures"):
        load_silhouettes(tmp_path)
