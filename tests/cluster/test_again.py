"""The same command once more: it goes on, refuses other settings, starts anew, or tries failed photos."""

import re
from pathlib import Path

import numpy as np
import pytest
from clusters import MEMORY, Ended, TwoNodes, finish, list_results, read_rows, start_batch, write_photos
from PIL import Image
from random_models import random_model

from deshadow.cli.app import main
from deshadow.cluster import Job, Resources, run_batch
from deshadow.nn.config import find_preset
from deshadow.runtime.checkpoint import save_model

PROGRESS = re.compile(r"\d+ of 10 photos.* left")

pytestmark = [
    pytest.mark.xdist_group("cluster"),
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning"
    ),  # Ray leaves pipes of its processes to the collector
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def test_a_run_is_resumed_limited_changed_and_reported(
    two_nodes: TwoNodes, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    photos, out = tmp_path / "in", tmp_path / "out"
    write_photos(photos, 10, broken=2)
    arguments = [photos, "-o", out, "--workers", 1, "--memory-per-worker", MEMORY]
    arguments += ["--address", two_nodes.address]

    def batch(*given: object) -> Ended:
        return finish(start_batch(*given))

    def run_here(*given: object) -> tuple[int, str]:
        """Without a process of its own, where Ray is not needed: exit code and all that was printed."""
        with pytest.raises(SystemExit) as end:
            main(["batch", *map(str, given)])
        return int(end.value.code or 0), "".join(capfd.readouterr())

    ended = batch(*arguments[:-1], two_nodes.client_address, "--max-errors", "50%")
    assert ended.code == 0, ended
    assert "10 of 10 photos are finished; 2 failed" in ended.out
    first, *later = ended.err.splitlines()
    assert first == "0 of 10 photos; the workers are starting"
    assert all(PROGRESS.fullmatch(line) for line in later), ended.err  # a line a minute, and nothing of Ray's
    before = read_rows(out)
    code, printed = run_here(*arguments)  # there is nothing left to do
    assert (code, "10 of them before" in printed) == (2, True)
    assert read_rows(out) == before
    code, printed = run_here(*arguments, "--strength", "0.5", "--quality", "80")
    assert code == 2
    for words in ("strength was 1.0 and is 0.5", "quality was None and is 80", "--overwrite"):
        assert words in printed
    other = tmp_path / "other.safetensors"
    save_model(other, random_model(find_preset("tiny")))
    code, printed = run_here(*arguments, "--weights", other)
    assert (code, "weights was" in printed) == (2, True)
    # Anew: more errors than allowed.
    ended = batch(*arguments, "--strength", "0.5", "--overwrite", "--max-errors", "0")
    assert ended.code == 3, ended
    assert "ended early" in ended.out
    # The broken photos have been replaced.
    for row in read_rows(out).values():
        if row["status"] == "failed":
            Path(row["source"]).write_bytes((photos / "0/photo 0000.jpg").read_bytes())
    ended = batch(*arguments, "--strength", "0.5", "--retry-failed")
    rows = read_rows(out)
    assert len(rows) == 10
    assert ended.code == (2 if any(row["status"] == "failed" for row in rows.values()) else 0)
    assert len(list_results(out)) == sum(row["status"] != "failed" for row in rows.values())
    code, printed = run_here("--report", out, "-o", tmp_path / "sheet.png")
    assert (code, printed.startswith("10 photos: ")) == (0, True)
    sheet = np.asarray(Image.open(tmp_path / "sheet.png"))
    assert sheet.shape[0] > 300
    assert (sheet < 100).any()


def test_workers_with_other_weights_end_the_run(two_nodes: TwoNodes, tmp_path: Path) -> None:
    write_photos(tmp_path / "in", 2)
    resources = Resources(workers=1, memory=MEMORY)
    job = Job(destination=str(tmp_path / "out"), digests=("another", "digest"), resources=resources)
    with pytest.raises(ValueError, match="a worker has other weights"):
        run_batch(job, str(tmp_path / "in"), address=two_nodes.address)
