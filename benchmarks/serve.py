"""Load test of the server: counts lost and mixed-up requests, and measures memory and response times.

python benchmarks/serve.py                                       # a stand-in for the networks
python benchmarks/serve.py --weights light --detector detector   # the real networks
"""

import argparse
import asyncio
import io
import math
import os
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing import Pipe, Process
from multiprocessing.connection import Connection
from pathlib import Path

import httpx
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from deshadow.removal.options import RemovalOptions

DEFAULTS = RemovalOptions()
TESTS = Path(__file__).parent.parent / "tests"
STAND_IN = """
from standin import StandIn
from deshadow.serve.server import run_server
from deshadow.serve.settings import Settings
run_server(StandIn(pause=0.05), Settings(port=0), browser=False)
"""


@dataclass
class Found:
    """What the clients measured."""

    results: int = 0
    wrong: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    page: list[float] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)


def picture(client: int, turn: int, side: int) -> NDArray[np.uint8]:
    """(H, W, 3): noise with a dark patch, different for every client and turn."""
    generator = np.random.default_rng([client, turn])
    found = generator.integers(100, 220, (side * 3 // 4, side, 3), np.uint8)
    found[side // 4 : side // 2, side // 4 : side // 2] //= 4
    return found


def png(values: NDArray[np.uint8]) -> bytes:
    out = io.BytesIO()
    Image.fromarray(values).save(out, "PNG", compress_level=1)
    return out.getvalue()


def is_own(data: bytes, photo: NDArray[np.uint8], weight: NDArray[np.uint8]) -> bool:
    """Whether a result equals the photo where the weight is 0 and differs from it where that is 255."""
    with Image.open(io.BytesIO(data)) as image:
        result = np.asarray(image)
    outside, inside = weight == 0, weight == 255
    return (
        result.shape == photo.shape
        and bool((result[outside] == photo[outside]).all())
        and bool((result[inside] != photo[inside]).any())
    )


async def ask(
    http: httpx.AsyncClient, found: Found, method: str, path: str, **more: object
) -> httpx.Response:
    """Send a request, again and again while the response is 429."""
    while True:
        answer = await http.request(method, path, **more)  # type: ignore[arg-type]
        found.statuses[answer.status_code] += 1
        if answer.status_code != 429:
            return answer
        await asyncio.sleep(float(answer.headers["retry-after"]) * (0.5 + np.random.default_rng().random()))


async def client(number: int, address: str, side: int, end: float, found: Found) -> None:
    """Upload, remove by a job, fetch, compare and delete; every other time by `/api/remove`."""
    async with httpx.AsyncClient(base_url=address, timeout=600, verify=False) as http:
        turn = 0
        while time.monotonic() < end:
            turn += 1
            photo = await asyncio.to_thread(picture, number, turn, side)
            mask = np.zeros(photo.shape[:2], np.uint8)
            mask[side // 4 : side // 2, side // 4 : side // 2] = 255
            files = {"file": (f"{number}.png", png(photo)), "mask": ("mask.png", png(mask))}
            began = time.monotonic()
            if turn % 2:
                data, weight = await by_job(http, found, files)
            else:
                # `/api/remove` does not return the weight; it is 0 beyond the dilation and the feather.
                answer = await ask(http, found, "POST", "/api/remove", files=files)
                data, weight = answer.content, mask.copy()
                lengths = DEFAULTS.dilate + DEFAULTS.feather + 2
                reach = math.ceil(lengths * min(photo.shape[:2]) / 256)
                top = max(0, side // 4 - reach)
                weight[top : side // 2 + reach, top : side // 2 + reach] |= 1
            found.waits.append(time.monotonic() - began)
            found.results += 1
            found.wrong += not is_own(data, photo, weight)


async def by_job(
    http: httpx.AsyncClient, found: Found, files: dict[str, tuple[str, bytes]]
) -> tuple[bytes, NDArray[np.uint8]]:
    """The result of a job, and its weight."""
    photo = (await ask(http, found, "POST", "/api/photos", files={"file": files["file"]})).json()["id"]
    job = (await ask(http, found, "POST", f"/api/photos/{photo}/jobs", files={"mask": files["mask"]})).json()[
        "id"
    ]
    async with http.stream("GET", f"/api/jobs/{job}/events") as stream:
        found.statuses[stream.status_code] += 1
        async for _ in stream.aiter_lines():
            pass
    result = await ask(http, found, "GET", f"/api/jobs/{job}/result")
    weight = await ask(http, found, "GET", f"/api/jobs/{job}/mask")
    await ask(http, found, "DELETE", f"/api/photos/{photo}")
    with Image.open(io.BytesIO(weight.content)) as image:
        return result.content, np.asarray(image)


def watch(address: str, seconds: float, told: Connection) -> None:
    """Measure response times of the page and the memory of the server, in a process of its own."""
    page, memory = [], []
    end = time.monotonic() + seconds
    with httpx.Client(base_url=address, timeout=60, verify=False) as http:
        while time.monotonic() < end:
            for path in ("/", "/api/settings"):
                began = time.monotonic()
                http.get(path)
                page.append(time.monotonic() - began)
            metrics = http.get("/metrics").text.splitlines()
            figure = next(
                line for line in metrics if line.startswith("deshadow_process_resident_memory_bytes")
            )
            memory.append(int(float(figure.split()[1])))
            time.sleep(0.25)
    told.send((page, memory))


async def load(address: str, clients: int, seconds: float, side: int) -> Found:
    found = Found()
    end = time.monotonic() + seconds
    told, telling = Pipe()
    watcher = Process(target=watch, args=(address, seconds, telling))
    watcher.start()
    await asyncio.gather(*(client(number, address, side, end, found) for number in range(clients)))
    found.page, found.memory = told.recv()
    watcher.join()
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--side", type=int, default=512)
    parser.add_argument("--weights")
    parser.add_argument("--detector", default="detector")
    chosen = parser.parse_args()
    command = [sys.executable, "-c", STAND_IN]
    if chosen.weights:
        options = ["--weights", chosen.weights, "--detector", chosen.detector]
        command = [sys.executable, "-m", "deshadow", "serve", "--no-browser", "--port", "0", *options]
    environment = {**os.environ, "PYTHONPATH": f"{TESTS}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stdout
        address = server.stdout.readline().strip()
        try:
            found = asyncio.run(load(address, chosen.clients, chosen.seconds, chosen.side))
        finally:
            server.terminate()
    show(found, chosen.clients, chosen.seconds)


def show(found: Found, clients: int, seconds: float) -> None:
    page = np.array(found.page) * 1000
    early, late = np.array_split(np.array(found.memory) / (1 << 20), 4)[1::2]
    results = f"{found.results} photos, {found.wrong} of them of another client"
    print(f"{clients} clients for {seconds:.0f} s: {results}")
    print("responses by status:", ", ".join(f"{status}: {n}" for status, n in sorted(found.statuses.items())))
    print(f"from request to photo: median {np.median(found.waits):.1f} s, longest {max(found.waits):.1f} s")
    print(
        f"page while they work: median {np.median(page):.0f} ms, 95 % {np.percentile(page, 95):.0f} ms, "
        f"longest {page.max():.0f} ms"
    )
    print(f"memory in the second quarter {early.mean():.0f} MiB, in the last {late.mean():.0f} MiB")


if __name__ == "__main__":
    main()
