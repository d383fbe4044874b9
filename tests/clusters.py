"""A Ray cluster of two nodes, a proxy that breaks connections, and photos of many kinds."""

import io
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet
from PIL import Image
from skimage.filters import gaussian

from deshadow.cluster.manifest import FOLDER
from deshadow.photo.deep import encode_deep_png

MEMORY = 1.3
"""GiB for each worker, so that small machines have room for them."""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class TwoNodes:
    """A head node and a second one, with room for a worker each and one more on the head."""

    def __init__(self) -> None:
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        os.environ["RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S"] = "120"  # of a busy machine
        from ray.cluster_utils import Cluster

        self._client_port = free_port()
        head = {"num_cpus": 2, "include_dashboard": False, "ray_client_server_port": self._client_port}
        self.cluster = Cluster(initialize_head=True, head_node_args={**head, **self._size()})
        self.second: Any = None
        self.add_second()

    @staticmethod
    def _size() -> dict[str, int]:
        return {"memory": 8 * 2**30, "object_store_memory": 80 * 2**20}

    @property
    def address(self) -> str:
        return str(self.cluster.address)

    @property
    def client_address(self) -> str:
        """For a driver on another machine."""
        return f"ray://127.0.0.1:{self._client_port}"

    def add_second(self) -> None:
        if self.second is None:
            self.second = self.cluster.add_node(num_cpus=1, **self._size())

    def kill_second(self) -> None:
        """SIGKILL the raylet of the second node."""
        os.kill(self._raylet(self.second), signal.SIGKILL)
        self.cluster.remove_node(self.second, allow_graceful=False)
        self.second = None

    def workers(self) -> list[int]:
        """The processes of all workers that process photos."""
        raylets = {self._raylet(node) for node in self.cluster.list_all_nodes()}
        return [pid for pid, parent, name in processes() if parent in raylets and "PhotoWorker" in name]

    @staticmethod
    def _raylet(node: Any) -> int:
        return int(node.all_processes["raylet"][0].process.pid)

    def close(self) -> None:
        self.cluster.shutdown()


def processes() -> list[tuple[int, int, str]]:
    """Number, parent and command line of each process."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            stat, name = (folder / "stat").read_text(), (folder / "cmdline").read_text()
        except OSError:
            continue
        found.append((int(folder.name), int(stat.rpartition(")")[2].split()[1]), name))
    return found


class CuttingProxy:
    """Passes bytes to an S3 server, and cuts as many of the next connections as it is told to."""

    def __init__(self, target: int) -> None:
        self._target, self.cuts, self.cut = target, 0, 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._target))
            threading.Thread(target=self._pass, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self._pass, args=(server, client, True), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, is_answer: bool) -> None:
        try:
            while data := source.recv(1 << 16):
                if is_answer and self.cuts > 0:  # in the middle of an answer
                    self.cuts, self.cut = self.cuts - 1, self.cut + 1
                    target.sendall(data[: len(data) // 2])
                    for each in (source, target):  # the other side sees a reset, not an end
                        each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    break
                target.sendall(data)
        except OSError:
            pass
        for each in (source, target):
            each.close()


class Ended(NamedTuple):
    code: int
    out: str
    err: str


def start_batch(*arguments: object) -> "subprocess.Popen[str]":
    """The command in a process of its own."""
    command = [sys.executable, "-m", "deshadow", "batch", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    STARTED.append(process)
    return process


STARTED: "list[subprocess.Popen[str]]" = []
"""Processes that a failed test may have left."""


def end_started() -> None:
    """End the processes that are still running."""
    while STARTED:
        process = STARTED.pop()
        if process.returncode is None:
            process.kill()
            process.communicate()


def finish(process: "subprocess.Popen[str]", timeout: float = 300) -> Ended:
    out, err = process.communicate(timeout=timeout)
    return Ended(process.returncode, out, err)


def wait_for(condition: Callable[[], object], seconds: float = 180) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


def read_rows(destination: Path) -> dict[str, dict[str, Any]]:
    """The rows on record at this moment, by source; each source has one row."""
    rows: list[dict[str, Any]] = []
    for part in sorted((destination / FOLDER).glob("*.parquet")):
        rows += pyarrow.parquet.read_table(part).to_pylist()
    found = {row["source"]: row for row in rows}
    assert len(found) == len(rows)
    return found


def list_results(folder: Path) -> list[str]:
    """All files below a folder without the manifest."""
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return sorted(str(path) for path in paths if path.parts[0] != FOLDER)


def draw_pixels(height: int, width: int, seed: int) -> np.ndarray:
    """(H, W, 3) uint8: grainy ground of some colour, in most photos with a shadow."""
    rng = np.random.default_rng(seed)
    pixels = rng.normal(150, 12, (height, width, 1)) * rng.uniform(0.8, 1.2, 3)
    if seed % 7:  # some photos have no shadow
        cast_shadow(pixels, np.s_[height // 4 : 3 * height // 4, width // 5 : 3 * width // 5])
    return pixels.astype(np.uint8)


def cast_shadow(pixels: np.ndarray, place: tuple[slice, slice]) -> None:
    """Darken a rectangle of (H, W, 3) in place, with an edge as soft as that of a shadow."""
    shadow = np.zeros(pixels.shape[:2])
    shadow[place] = 1
    pixels[:] = pixels * (1 - 0.6 * gaussian(shadow, 1)[..., None])


def encode_kind(kind: int, seed: int, side: int) -> tuple[str, bytes]:
    """The ending and the bytes of a photo of one of many kinds, at most `side` pixels long."""
    rng = np.random.default_rng(1000 + seed)
    height, width = (int(length) for length in rng.integers(side // 4, side + 1, 2))
    pixels = draw_pixels(height, width, seed)
    image, buffer = Image.fromarray(pixels), io.BytesIO()
    alpha = rng.integers(0, 256, (height, width), dtype=np.uint8)
    match kind % 10:
        case 0:
            image.save(buffer, "JPEG", quality=90)
            return ".jpg", buffer.getvalue()
        case 1:  # turned by EXIF
            exif = Image.Exif()
            exif[0x0112], exif[0x010E] = 1 + seed % 8, "a note"
            image.save(buffer, "JPEG", quality=85, exif=exif)
            return ".jpeg", buffer.getvalue()
        case 2:
            low = rng.integers(0, 256, pixels.shape, np.uint16)
            return ".png", encode_deep_png(pixels.astype(np.uint16) * 256 + low)
        case 3:
            Image.fromarray(np.dstack([pixels, alpha])).save(buffer, "PNG")
            return ".png", buffer.getvalue()
        case 4:
            image.convert("CMYK").save(buffer, "JPEG", quality=90)
            return ".jpg", buffer.getvalue()
        case 5:
            image.save(buffer, "TIFF", compression="tiff_deflate")
            return ".tif", buffer.getvalue()
        case 6:
            image.save(buffer, "WEBP", quality=80)
            return ".webp", buffer.getvalue()
        case 7:
            image.convert("L").save(buffer, "PNG")
            return ".PNG", buffer.getvalue()
        case 8:
            image.save(buffer, "BMP")
            return ".bmp", buffer.getvalue()
        case _:
            image.quantize(32).save(buffer, "PNG")
            return ".png", buffer.getvalue()


def write_photos(folder: Path, count: int, side: int = 96, broken: int = 0) -> None:
    """Photos of all kinds in nested folders; the last `broken` of them are cut off or no photos."""
    for seed in range(count):
        ending, data = encode_kind(seed, seed, side)
        if seed >= count - broken:
            data = data[: len(data) // 3] if seed % 2 else b"not a photo"
        path = folder / f"{seed % 3}" / f"photo {seed:04d}{ending}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
