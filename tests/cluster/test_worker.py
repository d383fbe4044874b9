"""A worker by itself, without Ray: masks, points and numbers of a list, and photos that end workers."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from clusters import cast_shadow, draw_pixels, read_rows
from PIL import Image

from deshadow.cluster.lists import Columns
from deshadow.cluster.manifest import Manifest
from deshadow.cluster.settings import Job, Networks, Resources
from deshadow.cluster.sources import plan_photos
from deshadow.cluster.storage import Storage
from deshadow.cluster.worker import PhotoWorker
from deshadow.removal.remover import Remover


def make_block(plan: pa.Table, name: str = "a") -> pa.Table:
    return plan.append_column("block", pa.array([name] * len(plan)))


def make_worker(out: Path, **resources: float) -> PhotoWorker:
    networks = Networks()
    return PhotoWorker(
        Job(destination=str(out), digests=networks.digests(), resources=Resources(**resources))  # type: ignore[arg-type]
    )


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    """Two shadows."""
    pixels = draw_pixels(96, 128, 7)
    for place in (np.s_[20:60, 16:56], np.s_[30:60, 80:110]):
        cast_shadow(pixels, place)
    path = tmp_path / "in/photo.png"
    path.parent.mkdir()
    Image.fromarray(pixels).save(path)
    return path


def changed(before: Path, after: Path) -> np.ndarray:
    first, second = (np.asarray(Image.open(path)).astype(int) for path in (before, after))
    return np.asarray((first != second).any(2))


def test_columns_of_a_list_choose_shadows(photo: Path, tmp_path: Path) -> None:
    mask = np.zeros((96, 128), np.uint8)
    mask[20:60, 16:56] = 255
    Image.fromarray(mask).save(tmp_path / "in/mask.png")
    names = ("left", "right", "masked", "wrong")
    for name in names:
        (tmp_path / f"in/{name}.png").write_bytes(photo.read_bytes())
    rows = ["uri,m,p,n", 'left.png,,"30,40",', "right.png,,,2", "masked.png,mask.png,,", "wrong.png,,here,"]
    listed = tmp_path / "in/list.csv"
    listed.write_text("\n".join(rows) + "\n")
    out = tmp_path / "out"
    plan = plan_photos(Storage(), str(listed), str(out), columns=Columns("uri", "m", "p", "n"))
    list(make_worker(out)(make_block(plan)))
    left, right = np.s_[25:55, 20:50], np.s_[35:55, 85:105]
    for name, gone, kept in (("left", left, right), ("right", right, left), ("masked", left, right)):
        difference = changed(photo, out / f"{name}.png")
        assert difference[gone].mean() > 0.8, name
        assert not difference[kept].any(), name
    row = read_rows(out)[str(tmp_path / "in/wrong.png")]
    assert row["status"] == "failed"
    assert "'here'" in row["error"]


def test_a_photo_that_ends_workers_fails_and_the_rest_goes_on(photo: Path, tmp_path: Path) -> None:
    (photo.parent / "second.png").write_bytes(photo.read_bytes())
    out = tmp_path / "out"
    plan = plan_photos(Storage(), str(photo.parent), str(out))
    worker = make_worker(out)

    def die(*_: object) -> None:
        raise KeyboardInterrupt  # whatever ends a process: no row is written after it

    alive, worker._process = worker._process, die  # type: ignore[assignment,method-assign]
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            list(worker(make_block(plan)))
    worker._process = alive  # type: ignore[method-assign]
    (status,) = worker(make_block(plan))
    assert status["status"].to_pylist() == ["failed", "done"]
    rows = read_rows(out)
    assert "ended a worker 3 times" in rows[str(photo)]["error"]
    assert [path.name for path in out.glob("*.png")] == ["second.png"]


def test_an_unforeseen_error_is_a_row_too(
    photo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("nobody thought of it")

    out = tmp_path / "out"
    worker = make_worker(out)
    monkeypatch.setattr(worker.remover, "relight", fail)
    list(worker(make_block(plan_photos(Storage(), str(photo), str(out)))))
    row = read_rows(out)[str(photo)]
    assert row["status"] == "failed"
    assert "RuntimeError: nobody thought of it" in row["error"]


def test_a_photo_too_large_for_the_memory_is_refused(photo: Path, tmp_path: Path) -> None:
    Image.new("L", (3000, 3000)).save(photo.parent / "large.png")
    out = tmp_path / "out"
    plan = plan_photos(Storage(), str(photo.parent), str(out))
    list(make_worker(out, memory=1.3)(make_block(plan)))
    rows = read_rows(out)
    assert "9 megapixels" in rows[str(photo.parent / "large.png")]["error"]
    assert "--memory-per-worker" in rows[str(photo.parent / "large.png")]["error"]
    assert rows[str(photo)]["status"] == "done"


def test_other_weights_on_a_worker_end_the_run(photo: Path, tmp_path: Path) -> None:
    worker = PhotoWorker(Job(destination=str(tmp_path / "out"), digests=("another", "digest")))
    with pytest.raises(ValueError, match="other weights"):
        list(worker(make_block(plan_photos(Storage(), str(photo.parent), str(tmp_path / "out")))))


def test_a_row_says_what_was_done(photo: Path, tmp_path: Path) -> None:
    import hashlib

    out = tmp_path / "out"
    list(make_worker(out)(make_block(plan_photos(Storage(), str(photo), str(out)))))
    row = read_rows(out)[str(photo)]
    data = (out / "photo.png").read_bytes()
    assert row["destination"] == str(out / "photo.png")
    assert (row["width"], row["height"], row["bytes"]) == (128, 96, len(data))
    assert row["result_digest"] == hashlib.sha256(data).hexdigest()
    assert row["weights_digest"] == Networks().digests()[0]
    pixels = np.asarray(Image.open(photo), np.float32) / np.float32(255)
    assert row["shadows"] == Remover().find_shadows(pixels).max() > 0
    result = Remover().relight(pixels)
    assert result is not None
    before, after = (np.asarray(Image.open(file)) for file in (photo, out / "photo.png"))
    assert row["fraction_relit"] == pytest.approx((before != after).any(axis=2).mean())
    assert 0 < row["fraction_relit"] < (result.weight > 0).mean()


def test_a_run_that_was_cut_off_while_merging_has_one_row_a_photo(photo: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    plan = plan_photos(Storage(), str(photo.parent), str(out))
    worker = make_worker(out)
    list(worker(make_block(plan, "a")))
    list(worker(make_block(plan, "b")))  # as if both parts had been kept
    manifest = Manifest(Storage(), str(out))
    latest = max(row["finished"] for row in _rows(out))
    assert [row["finished"] for row in manifest.merge().to_pylist()] == [latest]
    assert [path.name for path in (out / "_manifest").glob("*.parquet")] == ["manifest.parquet"]


def _rows(out: Path) -> list[dict[str, Any]]:
    import pyarrow.parquet

    parts = (out / "_manifest").glob("*.parquet")
    return [row for part in parts for row in pyarrow.parquet.read_table(part).to_pylist()]
