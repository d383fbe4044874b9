"""Time and peak memory of the command `deshadow PHOTO`, including start, detection, reading and writing.

python benchmarks/remove.py [WEIGHTS]

JPEG photos of 480×640 and of 12 megapixels, a fifth of them in shadow, each in a process of its own; then 10
and 100 photos in one process: their peaks of memory should be the same.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIZES = ((480, 640), (3000, 4000))
MODES = {"quick": (), "quick, mask given": ("--mask", "mask.png"), "removal": ("--mode", "removal")}
ROWS = (10, 100)


def main() -> None:
    weights = sys.argv[1] if len(sys.argv) > 1 else "light"
    print(f"{'':18} {'size':>11} {'photos':>7} {'seconds':>8} {'processor':>10} {'peak GiB':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for height, width in SIZES:
            draw(folder, height, width)
            for name, options in MODES.items():
                report(name, (height, width), 1, folder, ["photo.jpg", *options, "--weights", weights])
        draw(folder, *SIZES[0])
        for count in ROWS:
            many = Path(folder, f"many{count}")
            many.mkdir()
            for index in range(count):
                (many / f"{index}.jpg").write_bytes(Path(folder, "photo.jpg").read_bytes())
            report("quick", SIZES[0], count, folder, [many.name, "-o", "results", "--weights", weights])


def draw(folder: str, height: int, width: int) -> None:
    """Draw in another process: memory of this one would be counted for the processes that it starts."""
    subprocess.run([sys.executable, __file__, folder, str(height), str(width)], check=True)


def report(name: str, size: tuple[int, int], count: int, folder: str, options: list[str]) -> None:
    """Run the command once and print a line about it."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "deshadow", *options], cwd=folder, stdout=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    assert status == 0, f"deshadow {' '.join(options)} failed"
    processor, peak = used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20
    height, width = size
    print(
        f"{name:18} {height:>5}×{width:<5} {count:7} {seconds:8.1f} {processor:10.1f} {peak:9.2f}", flush=True
    )


def draw_here(folder: Path, height: int, width: int) -> None:
    import numpy as np
    from PIL import Image

    rng = np.random.default_rng(0)
    blocks = rng.uniform(120, 220, (-(-height // 16), -(-width // 16), 3)).repeat(16, 0).repeat(16, 1)
    pixels = blocks[:height, :width] + rng.normal(0, 6, (height, width, 3))
    rows, columns = np.ogrid[:height, :width]
    shadow = ((rows / height - 0.5) ** 2 + (columns / width - 0.5) ** 2) < 0.2 / np.pi
    pixels[shadow] *= 0.45
    Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(folder / "photo.jpg", quality=92)
    Image.fromarray(shadow).save(folder / "mask.png")


if __name__ == "__main__":
    if len(sys.argv) == 4:
        draw_here(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
    else:
        main()
