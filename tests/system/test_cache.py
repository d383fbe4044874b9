"""The cache holds what was stored, or nothing: never something else, and never more than its share."""

import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from deshadow.system import cache
from deshadow.system.cache import find_cache_folder, load_cached, measure_cache, store_cached


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DESHADOW_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def store(key: str, data: bytes) -> None:
    store_cached(key, lambda: data)


def set_age(file: Path, seconds: float) -> None:
    os.utime(file, (time.time() - seconds,) * 2)


def test_what_was_stored_is_found_again_in_a_folder_that_others_cannot_read(folder: Path) -> None:
    assert load_cached("a") is None
    assert measure_cache() == 0
    assert not folder.exists()
    store("a", b"first")
    store("b", b"")
    store("a", b"second")
    assert (load_cached("a"), load_cached("b")) == (b"second", b"")
    assert sorted(file.name for file in folder.iterdir()) == ["a.cached", "b.cached"]
    assert measure_cache() == sum(file.stat().st_size for file in folder.iterdir()) > 0
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data + b"!", lambda _: b""])
def test_damaged_files_are_not_used(folder: Path, damage: Callable[[bytes], bytes]) -> None:
    store("a", b"content")
    file = folder / "a.cached"
    file.write_bytes(damage(file.read_bytes()))
    assert load_cached("a") is None
    store("a", b"content")
    assert load_cached("a") == b"content"


def test_the_folder_is_where_the_platform_has_its_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DESHADOW_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/anna")
    for platform, folder in (
        ("linux", "/home/anna/.cache/deshadow"),
        ("darwin", "/home/anna/Library/Caches/deshadow"),
        ("win32", "/home/anna/AppData/Local/deshadow"),
    ):
        monkeypatch.setattr(sys, "platform", platform)
        assert find_cache_folder() == Path(folder)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # which the specification tells to ignore
    assert find_cache_folder() == Path("/home/anna/.cache/deshadow")
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/tmp/caches")
    assert find_cache_folder() == Path("/var/tmp/caches/deshadow")
    monkeypatch.setenv("DESHADOW_CACHE", "/else/where")
    assert find_cache_folder() == Path("/else/where")


def test_it_can_be_switched_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("DESHADOW_CACHE", "off")
    assert find_cache_folder() is None
    store_cached("a", lambda: pytest.fail("computed in vain"))
    assert load_cached("a") is None
    assert measure_cache() == 0
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_does_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/deshadow")):
        monkeypatch.setenv("DESHADOW_CACHE", str(place))
        store_cached("a", lambda: pytest.fail("computed in vain"))
        assert load_cached("a") is None
        assert measure_cache() == 0


def test_what_was_used_longest_ago_makes_room(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "LARGEST", 3500)
    for age, key in enumerate(("a", "b", "c")):
        store(key, bytes(1000))
        set_age(folder / f"{key}.cached", 100 - age)
    assert load_cached("a") is not None  # which makes it the one that was used last
    store("d", bytes(1000))
    assert [load_cached(key) is not None for key in "abcd"] == [True, False, True, True]
    store("too large", bytes(9000))
    assert [load_cached(key) is not None for key in ("a", "c", "d", "too large")] == [True, True, True, False]


def test_what_nobody_uses_is_removed_and_the_files_of_others_stay(folder: Path) -> None:
    for key in ("old", "recent"):
        store(key, b"x")
    for name in ("killed.part", "writing.part", "notes.txt"):
        (folder / name).touch()
    set_age(folder / "old.cached", 31 * 24 * 3600)
    set_age(folder / "recent.cached", 29 * 24 * 3600)
    set_age(folder / "notes.txt", 1e8)
    set_age(folder / "killed.part", 2 * 3600)
    store("new", b"x")
    assert {file.name for file in folder.iterdir()} == {
        "recent.cached",
        "new.cached",
        "writing.part",
        "notes.txt",
    }


def test_processes_side_by_side_read_what_was_written_whole(folder: Path) -> None:
    code = """
import sys, time
from deshadow.system import cache
cache.LARGEST = 600_000  # so that they also remove the files of each other
end, found = time.monotonic() + 0.7, 0
while time.monotonic() < end:
    for number in range(5):
        data = cache.load_cached(str(number))
        found += data is not None
        assert data is None or data == bytes([number]) * 150_000, number
        cache.store_cached(str(number), lambda: bytes([number]) * 150_000)
print(found > 0)
"""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    assert [process.communicate() for process in running] == [("True\n", "")] * 3
    assert not list(folder.glob("*.part"))
