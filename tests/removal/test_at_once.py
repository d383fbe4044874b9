"""How many photos of a folder are processed at the same time."""

from collections.abc import Callable
from pathlib import Path
from threading import Lock
from time import sleep
from typing import Any

import pytest
from PIL import Image

from deshadow.removal import batch
from deshadow.removal.options import RemovalOptions
from deshadow.removal.outcomes import Outcome
from deshadow.removal.process import PhotoRequest
from deshadow.removal.remover import Remover
from deshadow.removal.tasks import PhotoTask

SMALL, LARGE = (200, 100), (8000, 5000)
Run = Callable[..., list[set[str]]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Process photos of these formats and sizes; returns the names of those that run, at each start."""
    running: set[str] = set()
    seen: list[set[str]] = []
    lock = Lock()

    def pretend(task: PhotoTask, *_: Any, one_thread: bool) -> Outcome:
        with lock:
            running.add(task.name)
            seen.append(set(running))
        sleep(0.05)
        with lock:
            running.remove(task.name)
        return Outcome(task.name, "done", notes=("alone",) if one_thread else ())

    monkeypatch.setattr(batch, "try_photo", pretend)

    def process(*photos: tuple[str, tuple[int, int]], workers: int | None = None) -> list[set[str]]:
        tasks = []
        for number, (kind, size) in enumerate(photos):
            path = tmp_path / f"{number}.{kind}"
            Image.new("1", size).save(path)
            tasks.append(PhotoTask(path, tmp_path / "out" / path.name))
        outcomes = batch.process_batch(
            tasks, PhotoRequest(), RemovalOptions(), Remover(), lambda *_: None, workers
        )
        notes = {Path(outcome.photo).stem: outcome.notes for _, outcome in outcomes}
        assert len(notes) == len(photos)
        names = [{Path(name).stem for name in together} for together in seen]
        # Standard error may be silenced exactly where no other photo is being processed.
        for together in names:
            assert len(together) == 1 or not any(notes[name] for name in together)
        return names

    return process


def test_small_photos_run_in_pairs(run: Run) -> None:
    together = run(*[("png", SMALL)] * 6)
    assert max(map(len, together)) == 2


def test_a_large_photo_runs_alone(run: Run) -> None:
    together = run(("png", SMALL), ("png", LARGE), ("png", SMALL), ("png", SMALL))
    assert {"1"} in together
    assert not any("1" in names and len(names) > 1 for names in together)
    assert {"2", "3"} in together


def test_a_tiff_runs_alone_since_its_library_prints_messages(run: Run) -> None:
    together = run(("tif", SMALL), ("png", SMALL))
    assert together == [{"0"}, {"1"}]


def test_a_given_number_counts_and_not_the_size(run: Run) -> None:
    assert max(map(len, run(*[("png", LARGE)] * 3, workers=3))) == 3


def test_one_at_a_time(run: Run) -> None:
    assert max(map(len, run(*[("png", SMALL)] * 3, workers=1))) == 1
