"""`deshadow batch` as a user meets it: bad input, settings that changed, limits, progress, the report."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from urllib.request import Request, urlopen

import pyarrow as pa
import pyarrow.parquet
import pytest
from clusters import MEMORY, Ended, finish, list_results, read_rows, start_batch, wait_for, write_photos

from deshadow.cluster.progress import Reporter, format_progress
from deshadow.cluster.run import ErrorLimit, Tally

pytestmark = pytest.mark.xdist_group("cluster")
Command = Callable[..., Ended]


@pytest.fixture
def batch(capfd: pytest.CaptureFixture[str]) -> Command:
    """Runs the command in this process."""
    from deshadow.cli.app import main

    def run(*arguments: object) -> Ended:
        code = 0
        try:
            main(["batch", *map(str, arguments)])
        except SystemExit as end:
            code = int(end.code or 0)
        return Ended(code, *capfd.readouterr())

    return run


def fails(ended: Ended, *words: str) -> None:
    """It ends with one sentence that has these words."""
    assert ended.code == 2, ended
    *progress, last = ended.err.splitlines()
    assert last.startswith("deshadow: "), ended.err
    assert all(" photos" in line for line in progress), ended.err
    for word in words:
        assert word in last, last


def test_bad_sources_and_destinations_end_in_a_sentence(tmp_path: Path, batch: Command) -> None:
    photos = tmp_path / "in"
    write_photos(photos, 2)
    (tmp_path / "empty").mkdir()
    out = tmp_path / "out"
    fails(batch(), "give a source")
    fails(batch(tmp_path / "empty", "-o", out), "no photos found", ".jpg")
    fails(batch(tmp_path / "missing", "-o", out), "not found")
    fails(batch(photos / "*.xyz", "-o", out), "no photos found")
    fails(batch(photos, "-o", photos / "out"), "is in the source")
    fails(batch(photos, "-o", photos), "is in the source")
    fails(batch(photos, "-o", out, "--column", "uri"), "not a list")
    fails(batch(photos, "-o", out, "--max-errors", "many"), "'many'")
    fails(batch(photos, "-o", out, "--memory-per-worker", "0.1"), "at least 1.3 GiB")
    fails(batch(photos, "-o", out, "--strength", "2"), "strength is 2")
    fails(batch(photos, "-o", out, "--quality", "200"), "quality is 200")
    fails(batch(photos, "-o", out, "--mask", tmp_path / "no.png"), "file not found")
    fails(batch(photos, "-o", out, "--weights", tmp_path / "no.safetensors"), "no.safetensors")
    fails(batch("gopher://a/b", "-o", out), "gopher://a")
    fails(batch("--report", out), "no manifest")
    assert not out.exists()


def test_bad_lists_end_in_a_sentence(tmp_path: Path, batch: Command) -> None:
    out = tmp_path / "out"
    pyarrow.parquet.write_table(pa.table({"name": ["a.jpg"], "more": [1]}), tmp_path / "list.parquet")
    fails(batch(tmp_path / "list.parquet", "--column", "uri", "-o", out), "no column 'uri'", "name, more")
    (tmp_path / "broken.parquet").write_bytes(b"nothing")
    fails(batch(tmp_path / "broken.parquet", "-o", out), "cannot be read as a list")
    (tmp_path / "empty.txt").write_text("\n")
    fails(batch(tmp_path / "empty.txt", "-o", out), "no photos found")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission(tmp_path: Path, batch: Command) -> None:
    write_photos(tmp_path / "in", 1)
    (tmp_path / "closed").mkdir(mode=0o500)
    fails(batch(tmp_path / "in", "-o", tmp_path / "closed/out"), "cannot be written", "Permission denied")


def test_a_destination_that_cannot_be_written(tmp_path: Path, batch: Command) -> None:
    write_photos(tmp_path / "in", 1)
    (tmp_path / "file").write_text("not a folder")
    fails(batch(tmp_path / "in", "-o", tmp_path / "file/out"), "cannot be")


def test_buckets_that_do_not_exist_or_may_not_be_used(
    tmp_path: Path, batch: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    from moto.server import ThreadedMotoServer

    write_photos(tmp_path / "in", 1)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    place = f"127.0.0.1:{server.get_host_and_port()[1]}"
    query = f"?endpoint_override={place}&scheme=http&region=us-east-1"
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    urlopen(Request(f"http://{place}/closed", method="PUT")).close()
    fails(batch(f"s3://nobody/2024{query}", "-o", tmp_path / "out"), "s3://nobody")
    fails(batch(f"s3://closed/2024{query}", "-o", tmp_path / "out"), "s3://closed/2024", "not found")
    plain = {"Content-Type": "text/plain"}
    urlopen(
        Request(f"http://{place}/moto-api/reset-auth", b"0", plain)
    ).close()  # from now on, keys are checked
    try:
        fails(batch(f"s3://closed/2024{query}", "-o", tmp_path / "out"), "s3://closed", "check your access")
        fails(batch(tmp_path / "in", "-o", f"s3://closed/out{query}"), "s3://closed", "check your access")
    finally:
        urlopen(Request(f"http://{place}/moto-api/reset-auth", b"inf", plain)).close()
        server.stop()


def test_a_cluster_that_does_not_answer(tmp_path: Path, batch: Command) -> None:
    write_photos(tmp_path / "in", 1)
    began = time.monotonic()
    fails(batch(tmp_path / "in", "-o", tmp_path / "out", "--address", "ray://127.0.0.1:9"), "no Ray cluster")
    assert time.monotonic() - began < 10
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it accepts connections, and says nothing
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        fails(batch(tmp_path / "in", "-o", tmp_path / "out", "--address", address), "no Ray cluster")
    assert time.monotonic() - began < 20


def test_ctrl_c_ends_the_run_and_keeps_what_is_finished(tmp_path: Path) -> None:
    photos, out = tmp_path / "in", tmp_path / "out"
    write_photos(photos, 60)
    process = start_batch(photos, "-o", out, "--workers", 1, "--memory-per-worker", MEMORY)
    wait_for(lambda: len(list_results(out)) > 3)
    process.send_signal(signal.SIGINT)
    ended = finish(process)
    assert ended.code == 130
    assert "Traceback" not in ended.err
    assert "the same command goes on" in ended.err
    assert 3 < len(read_rows(out)) < 60
    kept = sorted(path.name for path in (out / "_manifest").iterdir())
    assert kept == ["manifest.parquet", "settings.json"]


def test_progress_is_one_line_a_minute_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    lines: list[str] = []
    show = Reporter(lines.append, terminal=False)
    tally = Tally(2000, 100, planned=now)
    for second in range(180):
        now = 1000.0 + second
        tally.done = 6 * second
        show(tally)
    assert len(lines) == 3
    assert lines[-1] == "820 of 2,000 photos, 6.0 a second, 3 min left\n"


def test_progress_counts_failures_and_time_left() -> None:
    tally = Tally(10_000_000, 0, done=36_000, failed=12, planned=0.0)
    shown = format_progress(tally, 3600.0)
    assert shown == "36,000 of 10,000,000 photos, 12 failed, 10.0 a second, 11.5 days left"


@pytest.mark.parametrize(
    ("seconds", "rate", "left"),
    [(2.0, "1.0 a second", "8 s"), (65.0, "1.8 a minute", "4 min"), (3600.0, "2.0 an hour", "4.0 h")],
)
def test_a_slow_run_shows_its_rate_by_the_minute_or_hour(seconds: float, rate: str, left: str) -> None:
    shown = format_progress(Tally(10, 0, done=2, failed=1, planned=0.0), seconds)
    assert shown == f"2 of 10 photos, 1 failed, {rate}, {left} left"


@pytest.mark.parametrize(("text", "limit"), [("0", 0), ("12", 12), ("1%", 20), ("0.5%", 10), ("100%", 2000)])
def test_limits_of_errors(text: str, limit: int) -> None:
    assert ErrorLimit(text).limit(2000) == limit


@pytest.mark.parametrize("text", ["", "-1", "1.5", "101%", "x%"])
def test_limits_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match="--max-errors"):
        ErrorLimit(text)


def test_other_commands_do_not_import_ray(tmp_path: Path) -> None:
    write_photos(tmp_path, 1, side=40)
    script = (
        "import sys; from deshadow.cli.app import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print([name for name in ('ray', 'pyarrow', 'fsspec') if name in sys.modules])"
    )
    for arguments in (["--help"], ["batch", "--help"], [str(next(tmp_path.rglob("*.jpg")))]):
        command = [sys.executable, "-c", script, *arguments]
        ended = subprocess.run(command, capture_output=True, text=True, check=True)
        assert ended.stdout.splitlines()[-1] == "[]", arguments


def test_without_the_extra_it_says_what_to_install(batch: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "deshadow.system.extras.find_spec", lambda name: None if name == "ray" else find_spec(name)
    )
    fails(batch("photos", "-o", "clean"), "pip install '.[cluster]'")
