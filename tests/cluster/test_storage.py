"""Files at addresses: written whole or not at all, also over connections that break."""

from pathlib import Path

import boto3
import pytest
from clusters import CuttingProxy

from deshadow.cluster.storage import Storage

pytestmark = pytest.mark.xdist_group("cluster")


def test_reads_and_writes_outlast_a_broken_connection(s3: CuttingProxy) -> None:
    boto3.client("s3").create_bucket(Bucket="breaking")
    storage, data = Storage(), bytes(range(256)) * 400
    s3.cuts = 1
    storage.write("s3://breaking/a/b c?.bin", data)
    assert s3.cuts == 0
    s3.cuts = 1
    assert storage.read("s3://breaking/a/b c?.bin") == data
    assert s3.cuts == 0
    assert [found.address for found in storage.list_files("s3://breaking/a")] == ["s3://breaking/a/b c?.bin"]


def test_a_missing_object_is_named(s3: CuttingProxy) -> None:
    boto3.client("s3").create_bucket(Bucket="empty")
    with pytest.raises(ValueError, match=r"s3://empty/nothing\.jpg: file not found"):
        Storage().read("s3://empty/nothing.jpg")


def test_an_unfinished_file_is_in_the_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_off(self: Path, target: Path) -> None:
        raise KeyboardInterrupt

    storage = Storage(temporary=tmp_path / "temporary")
    storage.write(str(tmp_path / "out/a.bin"), b"before")
    monkeypatch.setattr(Path, "replace", break_off)
    monkeypatch.setattr(Path, "unlink", lambda *_, **__: None)  # as if the process had been killed
    with pytest.raises(KeyboardInterrupt):
        storage.write(str(tmp_path / "out/a.bin"), b"after")
    assert (tmp_path / "out/a.bin").read_bytes() == b"before"
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a.bin"]
    assert len(list((tmp_path / "temporary").iterdir())) == 1
