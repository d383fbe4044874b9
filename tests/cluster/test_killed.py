"""Runs on a cluster of two nodes whose driver, worker or node is killed in the middle."""

import io
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import boto3
import pyarrow.parquet
import pytest
from clusters import (
    MEMORY,
    CuttingProxy,
    TwoNodes,
    finish,
    list_results,
    read_rows,
    start_batch,
    wait_for,
    write_photos,
)

from deshadow.removal.options import RemovalOptions
from deshadow.removal.outcomes import Outcome
from deshadow.removal.process import LocalFiles, PhotoRequest, try_photo
from deshadow.removal.remover import Remover
from deshadow.removal.tasks import plan_tasks

pytestmark = [
    pytest.mark.xdist_group("cluster"),
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning"
    ),  # Ray leaves pipes of its processes to the collector
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
COUNT, BROKEN, WORKERS = 60, 3, 2
Expected = dict[str, bytes | str]
"""By the name of a result: its bytes, or the sentence why there is none."""


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("photos")
    write_photos(folder, COUNT, broken=BROKEN)
    return folder


@pytest.fixture(scope="module")
def expected(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Expected:
    """What `deshadow PHOTO` makes of each photo: its result, or the sentence by its name."""
    out = tmp_path_factory.mktemp("expected")
    remover, found = Remover(), Expected()
    for task in plan_tasks([str(photos)], str(out), recursive=True):
        assert task.output
        Path(task.output).parent.mkdir(parents=True, exist_ok=True)
        outcome: Outcome = try_photo(
            task, PhotoRequest(), RemovalOptions(), remover, LocalFiles(), lambda _: None
        )
        name = str(task.output.relative_to(out))
        found[name] = " ".join(outcome.error.split()) or Path(task.output).read_bytes()
    assert sum(isinstance(each, str) for each in found.values()) == BROKEN
    return found


@pytest.fixture
def arguments(photos: Path, two_nodes: TwoNodes, tmp_path: Path) -> Iterator[list[object]]:
    two_nodes.add_second()
    yield [
        *(photos, "-o", tmp_path / "out", "--address", two_nodes.address),
        *("--workers", WORKERS, "--memory-per-worker", MEMORY),
    ]
    shutil.rmtree(tmp_path)


def check(out: Path, photos: Path, expected: Expected) -> None:
    """Everything is as `deshadow PHOTO` makes it, and nothing else is there."""
    rows = {str(Path(source).relative_to(photos)): row for source, row in read_rows(out).items()}
    assert len(rows) == COUNT
    for name, wanted in expected.items():
        row = rows[name]
        if isinstance(wanted, str):
            assert (row["status"], row["error"]) == ("failed", wanted)
            assert not (out / name).exists()
        else:
            assert row["status"] in ("done", "no shadow"), row["error"]
            assert (out / name).read_bytes() == wanted, name
    assert list_results(out) == sorted(name for name, wanted in expected.items() if isinstance(wanted, bytes))
    kept = sorted(path.name for path in (out / "_manifest").iterdir())
    assert kept == ["manifest.parquet", "settings.json"]


def in_the_middle(out: Path) -> bool:
    return 8 <= len(list_results(out)) <= COUNT - 16


def test_a_killed_driver(
    arguments: list[object],
    two_nodes: TwoNodes,
    photos: Path,
    expected: Expected,
    tmp_path: Path,
) -> None:
    out = tmp_path / "out"
    process = start_batch(*arguments)
    wait_for(lambda: in_the_middle(out))
    process.kill()
    process.communicate()
    wait_for(lambda: not two_nodes.workers())
    results, before = list_results(out), read_rows(out)
    assert 0 < len(before) < COUNT
    assert len(results) - sum(row["status"] != "failed" for row in before.values()) <= WORKERS  # in flight
    ended = finish(start_batch(*arguments))
    assert ended.code == 2, ended
    assert f"{len(before)} of them before" in ended.out
    check(out, photos, expected)
    after = read_rows(out)
    assert all(after[source] == row for source, row in before.items())  # none was computed again


def test_a_killed_worker(
    arguments: list[object],
    two_nodes: TwoNodes,
    photos: Path,
    expected: Expected,
    tmp_path: Path,
) -> None:
    out = tmp_path / "out"
    process = start_batch(*arguments)
    wait_for(lambda: in_the_middle(out))
    os.kill(two_nodes.workers()[0], signal.SIGKILL)
    before = read_rows(out)
    assert 0 < len(before) < COUNT
    ended = finish(process)
    assert f"{COUNT} of {COUNT} photos are finished" in ended.out, ended
    assert ended.code == 2
    check(out, photos, expected)
    after = read_rows(out)
    assert all(after[source] == row for source, row in before.items())


def test_a_killed_node(
    arguments: list[object],
    two_nodes: TwoNodes,
    photos: Path,
    expected: Expected,
    tmp_path: Path,
) -> None:
    out = tmp_path / "out"
    process = start_batch(*arguments)
    wait_for(lambda: in_the_middle(out))
    two_nodes.kill_second()
    before = read_rows(out)
    assert 0 < len(before) < COUNT
    ended = finish(process)
    assert f"{COUNT} of {COUNT} photos are finished" in ended.out, ended
    assert ended.code == 2
    check(out, photos, expected)
    after = read_rows(out)
    assert all(after[source] == row for source, row in before.items())


def test_from_and_to_s3_with_a_killed_driver_and_broken_connections(
    s3: CuttingProxy, two_nodes: TwoNodes, photos: Path, expected: Expected
) -> None:
    client = boto3.client("s3")
    for bucket in ("archive", "clean"):
        client.create_bucket(Bucket=bucket)
    for path in sorted(photos.rglob("*.*")):
        client.put_object(Bucket="archive", Key=f"2024/{path.relative_to(photos)}", Body=path.read_bytes())

    def stored() -> dict[str, int]:
        found = client.list_objects_v2(Bucket="clean").get("Contents", [])
        return {each["Key"].removeprefix("2024/"): each["Size"] for each in found}

    arguments = ["s3://archive/2024", "-o", "s3://clean/2024", "--address", two_nodes.address]
    arguments += ["--workers", str(WORKERS), "--memory-per-worker", str(MEMORY)]
    process = start_batch(*arguments)
    wait_for(lambda: len(stored()) > 12)
    s3.cuts = 12
    wait_for(lambda: s3.cuts == 0)
    process.kill()
    process.communicate()
    wait_for(lambda: not two_nodes.workers())
    assert s3.cut == 12
    assert len(stored()) < len(expected)
    s3.cuts = 4
    ended = finish(start_batch(*arguments))
    assert ended.code == 2, ended
    assert "before" in ended.out
    names = [name for name, wanted in expected.items() if isinstance(wanted, bytes)]
    # pyarrow marks a folder in which it deleted an object, by an empty object.
    own = ["_manifest/", "_manifest/manifest.parquet", "_manifest/settings.json"]
    assert sorted(stored()) == sorted([*names, *own])
    for name in names:
        assert client.get_object(Bucket="clean", Key=f"2024/{name}")["Body"].read() == expected[name], name
    manifest = client.get_object(Bucket="clean", Key="2024/_manifest/manifest.parquet")["Body"].read()
    rows = pyarrow.parquet.read_table(io.BytesIO(manifest)).to_pylist()
    assert len({row["source"] for row in rows}) == len(rows) == COUNT
    sentences = [row["error"].replace("s3://archive/2024", str(photos)) for row in rows if row["error"]]
    assert sorted(sentences) == sorted(each for each in expected.values() if isinstance(each, str))
