"""`deshadow batch` against as many plain processes on the same cores, and the memory of its workers.

python benchmarks/batch.py [--photos 2000] [--workers 2]     throughput, and every result compared
python benchmarks/batch.py --memory [--photos 100]           memory with photos of 12 megapixels
python benchmarks/batch.py --rate [--device cuda]            photos an hour, and the processor time of each

The photos have at most 320 pixels, in ten kinds of formats; 1 % of them are broken. Plain processes with open
networks and Ray's workers take turns of some seconds on the same cores: the others are stopped meanwhile. So
other load on the machine meets both alike. The turns begin when every worker of Ray has begun a photo; the
time until then is printed apart.
"""

import argparse
import io
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
from contextlib import suppress
from multiprocessing.queues import JoinableQueue
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from clusters import draw_pixels, encode_kind, list_results, processes, read_rows

from deshadow.cluster.manifest import FOLDER
from deshadow.cluster.run import run_batch
from deshadow.cluster.settings import Job, Networks, Resources
from deshadow.removal.options import RemovalOptions
from deshadow.removal.process import LocalFiles, PhotoRequest, try_photo
from deshadow.removal.remover import Remover
from deshadow.removal.tasks import PhotoTask, plan_tasks

TURN = 10.0  # seconds
SPAN = 30.0  # seconds


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--photos", type=int)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--rate", action="store_true")
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    if given.rate:
        measure_rate(given.workers, given.device)
        return
    with tempfile.TemporaryDirectory() as folder:
        if given.memory:
            measure_memory(Path(folder), given.photos or 100, given.workers)
        else:
            compare(Path(folder), given.photos or 2000, given.workers)


def compare(folder: Path, photos: int, workers: int) -> None:
    source, by_plain, by_ray = folder / "in", folder / "plain", folder / "ray"
    for number in range(photos):
        ending, data = encode_kind(number, number, 320)
        if number % 100 == 99:
            data = data[: len(data) // 3] if number % 200 == 99 else b"not a photo"
        path = source / f"{number % 5}" / f"photo {number:05d}{ending}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    plain = PlainProcesses(workers)
    plain.begin(source, by_plain)
    turns = Turns(plain, by_ray, workers)
    turns.start()
    tally = run_batch(make_job(by_ray, workers), str(source))
    turns.ray_ended.set()
    turns.join()
    plain.close()
    failed = check_equal(source, by_plain, by_ray)
    rates = {name: photos / seconds for name, seconds in turns.seconds.items()}
    print(f"{photos} photos, {tally.workers} workers; Ray started in {turns.started:.1f} s")
    print(f"photos a second: plain {rates['plain']:.2f}, ray {rates['ray']:.2f}")
    print(f"ratio {rates['ray'] / rates['plain']:.3f} (turns of {TURN:.0f} s)")
    print(f"{photos - failed} results equal to the bit, {failed} broken photos with the same sentence")


class Turns(threading.Thread):
    """Stops the plain processes and the workers of Ray in turns, and counts the seconds of each."""

    def __init__(self, plain: "PlainProcesses", by_ray: Path, workers: int) -> None:
        super().__init__(daemon=True)
        self.plain, self.by_ray, self.workers = plain, by_ray, workers
        self.seconds = {"plain": 0.0, "ray": 0.0}
        self.started = 0.0
        self.ray_ended = threading.Event()

    def run(self) -> None:
        began = time.perf_counter()
        self.plain.send(signal.SIGSTOP)
        while (
            len(list((self.by_ray / FOLDER).glob("part-*"))) < self.workers
            or len(find_workers()) < self.workers
        ):
            time.sleep(0.05)
        self.started = time.perf_counter() - began
        ray = find_workers()
        ended = {"plain": self.plain.ended, "ray": self.ray_ended}
        turn = "plain"
        while not all(event.is_set() for event in ended.values()):
            other = "ray" if turn == "plain" else "plain"
            if ended[turn].is_set():
                turn, other = other, turn
            send(ray, signal.SIGCONT if turn == "ray" else signal.SIGSTOP)
            self.plain.send(signal.SIGCONT if turn == "plain" else signal.SIGSTOP)
            began = time.perf_counter()
            ended[turn].wait(TURN)
            self.seconds[turn] += time.perf_counter() - began
            turn = other


def find_workers() -> list[int]:
    """The workers of the Ray that this process has started."""
    found = processes()
    own = {pid for pid, parent, _ in found if parent == os.getpid()}
    return [pid for pid, parent, name in found if parent in own and "PhotoWorker" in name]


def send(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def make_job(out: Path, workers: int, memory: float = 2.0) -> Job:
    networks = Networks()
    return Job(
        networks=networks,
        resources=Resources(workers=workers, memory=memory),
        digests=networks.digests(),
        destination=str(out),
    )


def check_equal(source: Path, by_plain: Path, by_ray: Path) -> int:
    """Compare all results; returns the number of photos that failed in both."""
    errors = dict(line.split("\t") for line in (by_plain / "errors").read_text().splitlines())
    rows = read_rows(by_ray)
    assert len(rows) == sum(path.is_file() for path in source.rglob("*"))
    assert errors == {name: row["error"] for name, row in rows.items() if row["status"] == "failed"}
    names = list_results(by_ray)
    assert names == [name for name in list_results(by_plain) if name != "errors"]
    assert len(names) == len(rows) - len(errors)
    for name in names:
        assert (by_plain / name).read_bytes() == (by_ray / name).read_bytes(), name
    return len(errors)


class PlainProcesses:
    """Processes that keep the networks open and take photos from a queue."""

    def __init__(self, count: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.tasks: JoinableQueue[Any] = context.JoinableQueue()
        self.errors = context.Queue()
        self.processes = [
            context.Process(target=work_plainly, args=(self.tasks, self.errors), daemon=True)
            for _ in range(count)
        ]
        for process in self.processes:
            process.start()
        for _ in range(count):
            self.errors.get()  # the networks are open

    def begin(self, source: Path, out: Path) -> None:
        """Have all photos of a folder processed; `ended` is set after the last."""
        tasks = plan_tasks([str(source)], str(out), recursive=True)
        for task in tasks:
            assert task.output
            Path(task.output).parent.mkdir(parents=True, exist_ok=True)
            self.tasks.put(task)
        self.ended = threading.Event()

        def collect() -> None:
            errors = [self.errors.get() for _ in tasks]
            self.ended.set()
            (out / "errors").write_text("".join(f"{name}\t{error}\n" for name, error in errors if error))

        threading.Thread(target=collect, daemon=True).start()

    def send(self, number: signal.Signals) -> None:
        send([process.pid for process in self.processes if process.pid], number)

    def close(self) -> None:
        self.send(signal.SIGCONT)
        for _ in self.processes:
            self.tasks.put(None)
        for process in self.processes:
            process.join()


def work_plainly(tasks: "JoinableQueue[PhotoTask | None]", errors: Any) -> None:
    remover = Remover(device="cpu", threads=1)
    _ = remover.backend, remover.detector
    errors.put(None)
    while task := tasks.get():
        outcome = try_photo(task, PhotoRequest(), RemovalOptions(), remover, LocalFiles(), lambda _: None)
        errors.put((task.name, " ".join(outcome.error.split())))


def measure_rate(workers: int, device: str) -> None:
    """Photos an hour of so many processes, with one thread each, from JPEG to JPEG in memory."""
    context = multiprocessing.get_context("spawn")
    for height, width in ((320, 320), (480, 640), (3000, 4000)):
        small = Image.fromarray(draw_pixels(height // 4, width // 4, 1))
        buffer = io.BytesIO()
        small.resize((width, height), Image.Resampling.BICUBIC).save(buffer, "JPEG", quality=92)
        with context.Pool(workers) as pool:
            counts = pool.starmap(count_photos, [(buffer.getvalue(), device)] * workers, chunksize=1)
        photos = sum(count for count, _ in counts)
        processor = sum(seconds for _, seconds in counts) / photos
        print(
            f"{height}×{width}, {workers} processes on {device}: {3600 * photos / SPAN:,.0f} an hour; "
            f"{processor:.2f} s of a core each, {3600 / processor:,.0f} a core-hour",
            flush=True,
        )


def count_photos(data: bytes, device: str) -> tuple[int, float]:
    """How often a photo was processed, and the processor time of that."""
    remover = Remover(device=device, threads=1)
    remover.remove(data)
    count, began, end = 0, time.process_time(), time.monotonic() + SPAN
    while time.monotonic() < end:
        remover.remove(data)
        count += 1
    return count, time.process_time() - began


def measure_memory(folder: Path, photos: int, workers: int) -> None:
    """Watch the largest worker while it processes photos of 12 megapixels."""
    small = Image.fromarray(draw_pixels(750, 1000, 1))
    pixels = np.asarray(small.resize((4000, 3000), Image.Resampling.BICUBIC))
    (folder / "in").mkdir()
    for number in range(photos):
        grain = np.random.default_rng(number).integers(0, 12, pixels.shape, dtype=np.uint8)
        Image.fromarray(np.minimum(pixels, 243) + grain).save(folder / f"in/{number:03d}.jpg", quality=92)
    samples: list[tuple[float, int]] = []
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.1):
            sizes = [memory_of(pid) for pid in find_workers()]
            samples.append((time.time(), max(sizes, default=0)))

    threading.Thread(target=watch, daemon=True).start()
    run_batch(make_job(folder / "out", workers), str(folder / "in"))
    ended.set()
    done = sorted(row["finished"].timestamp() for row in read_rows(folder / "out").values())
    assert len(done) == photos
    begin = samples[0][0]
    for quarter in range(4):
        end = done[(quarter + 1) * photos // 4 - 1]
        peak = max(size for at, size in samples if begin <= at <= end)
        numbers = f"{quarter * photos // 4 + 1} to {(quarter + 1) * photos // 4}"
        print(f"photos {numbers}: {peak / 2**30:.2f} GiB at most")
        begin = end


def memory_of(pid: int) -> int:
    """Bytes of a process that no other process shares, and of those that it shares."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096
    except OSError:
        return 0


if __name__ == "__main__":
    main()
