"""pairs.csv with folders and with tar shards beside it."""

import io
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from deshadow.data.pairs.find import find

HEADER = "shadow,shadow_free,mask,scene,split\n"


def encoded(level: int, size: tuple[int, int] = (24, 16)) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size, (level, level, level)).save(buffer, "PNG")
    return buffer.getvalue()


def files(name: str, level: int, scene: str) -> dict[str, bytes]:
    """A triplet by its file names; the clean picture is shared by its scene."""
    return {
        f"shadow/{name}.png": encoded(level),
        f"shadow_free/{scene}.png": encoded(200),
        f"mask/{name}.png": encoded(255),
    }


def row(name: str, scene: str, split: str) -> str:
    return f"shadow/{name}.png,shadow_free/{scene}.png,mask/{name}.png,{scene},{split}\n"


def pack(path: Path, content: dict[str, bytes], prefix: str = "") -> None:
    with tarfile.open(path, "w") as shard:
        for name, data in content.items():
            entry = tarfile.TarInfo(prefix + name)
            entry.size = len(data)
            shard.addfile(entry, io.BytesIO(data))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three rows, of which the shard of the last is absent."""
    table = HEADER + row("a", "s", "train") + row("b", "s", "val") + row("c", "t", "train")
    (tmp_path / "pairs.csv").write_text(table)
    pack(tmp_path / "train-0.tar", files("a", 40, "s"))
    pack(tmp_path / "val.tar", files("b", 60, "s"), prefix="./")
    return tmp_path


def test_shards_are_read_in_place(folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    found = find(folder)
    assert found.layout == "csv"
    assert [(each.name, each.scene, each.split) for each in found] == [("a", "s", "train"), ("b", "s", "val")]
    picture, mask, clean = found[1].load()
    assert (picture == 60).all()
    assert (mask == 255).all()
    assert (clean == 200).all()
    assert picture.shape == (16, 24, 3)
    assert sorted(folder.rglob("*")) == before


def test_rows_of_absent_shards_are_counted(folder: Path) -> None:
    assert find(folder).absent == 1
    assert find(folder, split="val").absent == 0
    (folder / "train-0.tar").unlink()
    with pytest.raises(ValueError, match=r"no picture of the split 'train' .* 2 rows"):
        find(folder, split="train")


def test_split_that_the_table_does_not_know(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"no split 'test' in .*: it has train, val"):
        find(folder, split="test")


def test_folders_beside_the_table(tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text(HEADER + row("a", "s", "train") + row("gone", "s", "train"))
    for name, data in files("a", 40, "s").items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    with pytest.raises(ValueError, match=r"shadow/gone\.png and mask/gone\.png: not found"):
        find(tmp_path)
    assert [each.name for each in find(tmp_path, skip_problems=True)] == ["a"]


def test_a_row_with_half_its_files_is_a_problem(folder: Path) -> None:
    content = files("c", 40, "t")
    del content["shadow_free/t.png"]
    pack(folder / "train-1.tar", content)
    found = find(folder, skip_problems=True)
    assert found.absent == 0
    assert [problem.reason for problem in found.problems] == ["shadow_free/t.png: not found"]


def test_a_shard_cut_short_is_a_problem(folder: Path) -> None:
    pack(folder / "train-1.tar", files("c", 40, "t"))
    data = (folder / "train-1.tar").read_bytes()
    (folder / "train-1.tar").write_bytes(data[:560])
    found = find(folder, skip_problems=True)
    assert len(found) == 2
    assert any("train-1.tar" in problem.file for problem in found.problems)


def test_an_empty_mask_cell_means_derived_and_scene_falls_back_to_the_clean_picture(folder: Path) -> None:
    (folder / "pairs.csv").write_text("Shadow,shadow_free,mask\nshadow/a.png,shadow_free/s.png,\n")
    found = find(folder)
    assert found[0].mask_file is None
    assert found[0].scene == "shadow_free/s"
    assert np.array_equal(found[0].mask, np.full((16, 24), 255))


def test_a_table_without_the_columns(folder: Path) -> None:
    (folder / "pairs.csv").write_text("shadow,clean\na,b\n")
    with pytest.raises(ValueError, match="has no column shadow_free"):
        find(folder)


def test_a_row_that_names_no_pair(folder: Path) -> None:
    (folder / "pairs.csv").write_text(HEADER + row("a", "s", "train") + ",,,,train\n")
    with pytest.raises(ValueError, match="a row without a pair"):
        find(folder)
