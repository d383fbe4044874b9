"""What a source means: which photos, where their results go, and which of them cannot be processed."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from PIL import Image

from deshadow.cluster.execution import divide
from deshadow.cluster.lists import Columns
from deshadow.cluster.sources import PLAN, plan_photos
from deshadow.cluster.storage import Storage
from deshadow.photo import formats


def plan(source: object, out: str = "/nowhere/out", **given: object) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = plan_photos(Storage(), str(source), out, **given).to_pylist()  # type: ignore[arg-type]
    return rows


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in (
        "a.jpg",
        "b/c.PNG",
        "b/d/e.nef",
        "b/.hidden.jpg",
        "b/f.deshadowed.jpg",
        "notes.txt.md",
        "å ö?.tif",
    ):
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    return tmp_path / "in"


def test_a_folder_is_searched_whole_and_mirrored(tree: Path) -> None:
    rows = plan(tree)
    assert [row["relative"] for row in rows] == ["a.jpg", "b/c.PNG", "b/d/e.tif", "å ö?.tif"]
    assert [row["source"] for row in rows] == [
        str(tree / name) for name in ("a.jpg", "b/c.PNG", "b/d/e.nef", "å ö?.tif")
    ]
    assert {row["size"] for row in rows} == {1}


def test_where_no_photo_is_found_the_endings_of_installed_formats_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formats, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match="no photos found") as error:
        plan(tmp_path)
    assert ".gif" in str(error.value)
    assert ".heic" not in str(error.value)
    assert ".nef" not in str(error.value)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.jpg", ["a.jpg"]),
        ("b/*", ["b/c.PNG"]),
        ("**/*.PNG", ["b/c.PNG"]),
        ("**", ["a.jpg", "b/c.PNG", "b/d/e.tif", "å ö?.tif"]),
        ("*/d/*", ["b/d/e.tif"]),
    ],
)
def test_patterns(tree: Path, pattern: str, found: list[str]) -> None:
    start = "b/" if pattern.startswith("b/") else ""
    assert [start + str(row["relative"]) for row in plan(f"{tree}/{pattern}")] == found


def test_lists_keep_the_paths_that_they_give(tmp_path: Path) -> None:
    lines = [
        "sub/a.jpg",
        "",
        "s3://bucket/2024/b.jpg",
        "/data/c.png",
        "../up/d.jpg",
        "s3://x/../../../e.jpg",
        "sub/a.jpg",
    ]
    (tmp_path / "list.txt").write_text("\n".join(lines))
    rows = plan(tmp_path / "list.txt")
    up = tmp_path.parent / "up/d.jpg"
    assert [(row["source"], row["relative"]) for row in rows] == [
        (str(tmp_path / "sub/a.jpg"), "sub/a.jpg"),
        ("s3://bucket/2024/b.jpg", "bucket/2024/b.jpg"),
        ("/data/c.png", "data/c.png"),
        (str(up), str(up).lstrip("/")),
        ("s3://x/../../../e.jpg", "e.jpg"),
    ]


def test_columns_of_a_parquet_list(tmp_path: Path) -> None:
    table = pa.table({"n": [2, None], "uri": ["a.jpg", "b.jpg"], "mask": [None, "m.png"]})
    pyarrow.parquet.write_table(table, tmp_path / "list.parquet")
    first, second = plan(tmp_path / "list.parquet", columns=Columns("uri", mask="mask", instance="n"))
    assert (first["mask"], first["instance"]) == ("", "2")
    assert (second["mask"], second["instance"]) == (str(tmp_path / "m.png"), "")


def test_a_folder_of_masks(tree: Path, tmp_path: Path) -> None:
    for name in ("a.png", "b/c.png", "c.png", "e.jpg", "e.png"):
        path = tmp_path / "masks" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", (2, 2)).save(path)
    a, c, e, other = plan(tree, mask=str(tmp_path / "masks"))
    assert a["mask"] == str(tmp_path / "masks/a.png")
    assert c["mask"] == str(tmp_path / "masks/b/c.png")
    assert "several masks" in str(e["problem"])
    assert "no mask" in str(other["problem"])


def test_results_never_replace_photos_or_each_other(tmp_path: Path) -> None:
    for name in ("x/x/a.jpg", "x/a.jpg", "x/r.cr2", "x/r.dng"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    rows = {str(row["source"]): str(row["problem"]) for row in plan(tmp_path / "x", str(tmp_path))}
    assert "is an input" in rows[str(tmp_path / "x/x/a.jpg")]
    assert not rows[str(tmp_path / "x/a.jpg")]
    assert "2 results would be written to" in rows[str(tmp_path / "x/r.cr2")]
    assert "2 results would be written to" in rows[str(tmp_path / "x/r.dng")]


def test_blocks_are_divided_by_number_and_by_bytes() -> None:
    sizes = [1 << 20] * 40 + [100 << 20] * 3
    columns = {name: [""] * len(sizes) for name in PLAN.names if name != "size"}
    table = pa.table({**columns, "size": sizes})
    blocks = divide(table, 1)
    assert sum(len(block) for block in blocks) == len(sizes)
    assert max(len(block) for block in blocks) <= 16
    assert [len(block) for block in blocks[-3:]] == [1, 1, 1]
    assert len({block["block"][0].as_py() for block in blocks}) == len(blocks)
    assert len(divide(pa.concat_tables([table.slice(0, 40)] * 2500), 4)) <= 20_000
