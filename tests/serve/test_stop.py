"""The server as a process of its own: how it starts, and what it leaves."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
import pytest
from serving import decoded, encoded, parts, scene, serving

from deshadow.nn.config import DETECTORS
from deshadow.nn.detector import ShadowDetector
from deshadow.runtime.checkpoint import save_model
from deshadow.serve.server import make_address
from deshadow.serve.settings import Settings

PROGRAM = """
from standin import StandIn
from deshadow.serve.server import run_server
from deshadow.serve.settings import Settings
run_server(StandIn(pause=0.2, windows=1000), Settings(port=0), browser=False)
"""
TESTS = Path(__file__).parent.parent


@contextmanager
def process(folder: Path) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    environment = {**os.environ, "TMPDIR": str(folder)}
    environment["PYTHONPATH"] = f"{TESTS}{os.pathsep}{environment.get('PYTHONPATH', '')}"
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as running:
        assert running.stdout
        try:
            address = running.stdout.readline().strip()
            with httpx.Client(base_url=address, timeout=20) as client:
                yield running, client
        finally:
            running.kill()


def test_sigterm_cancels_everything_and_leaves_no_files(tmp_path: Path) -> None:
    with process(tmp_path) as (running, client):
        photo = client.post("/api/photos", files=parts(file=encoded(scene()))).json()["id"]
        jobs = [
            client.post(f"/api/photos/{photo}/jobs", files=parts(mode="removal")).json() for _ in range(3)
        ]
        ended: list[dict[str, object]] = []
        waited: list[httpx.Response] = []

        def listen() -> None:
            with client.stream("GET", f"/api/jobs/{jobs[0]['id']}/events") as stream:
                lines = [line for line in stream.iter_lines() if line.startswith("data: ")]
            ended.append(json.loads(lines[-1].removeprefix("data: ")))

        def wait() -> None:
            waited.append(client.post("/api/remove", files=parts(file=encoded(scene()))))

        threads = [threading.Thread(target=listen), threading.Thread(target=wait)]
        for thread in threads:
            thread.start()
        while "queue_length 3" not in client.get("/metrics").text:
            assert running.poll() is None
        assert len(list(tmp_path.rglob("*"))) > 3
        running.send_signal(signal.SIGTERM)
        assert running.wait(20) == -signal.SIGTERM
        for thread in threads:
            thread.join()
        assert ended[0]["state"] == "cancelled"
        assert (waited[0].status_code, waited[0].json()["error"]["code"]) == (503, "stopping")
        assert running.stderr
        assert running.stderr.read() == ""
        assert list(tmp_path.iterdir()) == []


def test_an_upload_under_way_does_not_keep_it_from_stopping(tmp_path: Path) -> None:
    with process(tmp_path) as (running, client):
        sending, stop = threading.Event(), threading.Event()

        def pieces() -> Iterator[bytes]:
            yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
            while not stop.wait(0.05):
                yield b"\0" * 65536
                sending.set()

        def upload() -> None:
            headers = {"content-type": "multipart/form-data; boundary=x"}
            with pytest.raises(httpx.TransportError):
                raise_refused(client.post("/api/photos", content=pieces(), headers=headers))

        thread = threading.Thread(target=upload)
        thread.start()
        sending.wait()
        running.send_signal(signal.SIGTERM)
        assert running.wait(30) == -signal.SIGTERM
        stop.set()
        thread.join()
        assert list(tmp_path.iterdir()) == []


def raise_refused(answer: httpx.Response) -> None:
    """An answer is as good as a closed connection."""
    assert answer.status_code >= 400
    raise httpx.TransportError(answer.text)


def serve(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "deshadow", "serve", "--no-browser", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--host", "0.0.0.0"], "--token"),
        (["--host", "0.0.0.0", "--token", "short"], "16"),
        (["--port", "99999"], "--port"),
        (["--queue", "0"], "--queue"),
        (["--max-upload", "-1"], "--max-upload"),
        (["--weights", "missing.safetensors"], "missing.safetensors"),
    ],
)
def test_what_cannot_be_served_is_one_line_and_exit_code_2(arguments: list[str], sentence: str) -> None:
    done = serve(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_port_that_is_taken_is_one_line_and_leaves_no_files(tmp_path: Path) -> None:
    with process(tmp_path) as (_, client):
        before = list(tmp_path.iterdir())
        program = PROGRAM.replace("port=0", f"port={client.base_url.port}")
        environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=False, env=environment
        )
        assert "ValueError: cannot listen on 127.0.0.1" in done.stderr
        assert "--port" in done.stderr
        assert list(tmp_path.iterdir()) == before


@pytest.mark.parametrize("token", ["correct horse battery staple", "a&b=c#d?e%f/g+h:i@j"])
def test_the_address_that_is_printed_lets_one_in(token: str) -> None:
    settings = Settings(host="0.0.0.0", token=token)
    with serving(settings=settings) as served:
        address = httpx.URL(make_address(settings, served.port), host="127.0.0.1")
        assert httpx.get(address).status_code == 303


def test_the_command_serves_photos_with_weights_of_ones_own(exported: Path, tmp_path: Path) -> None:
    detector = tmp_path / "detector.safetensors"
    save_model(detector, ShadowDetector(DETECTORS["detector-tiny"]).eval())
    command = [sys.executable, "-m", "deshadow", "serve", "--no-browser", "--port", "0"]
    picture, mask = scene(), np.zeros((60, 80), np.uint8)
    mask[20:40, 40:60] = 255
    with subprocess.Popen(
        [*command, "--weights", exported, "--detector", detector], stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout
        with httpx.Client(base_url=running.stdout.readline().strip(), timeout=60) as client:
            fields = parts(file=encoded(picture), mask=encoded(mask), dilate=2, feather=0, mode="removal")
            answer = client.post("/api/remove", files=fields)
        running.terminate()
        assert running.stdout.read() == ""  # one line in all
    assert answer.status_code == 200, answer.text
    changed = (decoded(answer.content) != picture).any(-1)
    assert changed[20:40, 40:60].any()
    assert not changed[:, :30].any()
