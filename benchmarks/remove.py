"""Time and peak memory of Quick and Removal, start included, at 480×640 and at 12 megapixels.

python benchmarks/remove.py [WEIGHTS]

Each runs in a process of its own. The shadow covers a fifth of the picture; the mask is given.
"""

import resource
import subprocess
import sys
import time

SIZES = ((480, 640), (3000, 4000))


def main() -> None:
    weights = sys.argv[1] if len(sys.argv) > 1 else "light"
    print(f"{'mode':8} {'size':>11} {'seconds':>8} {'processor':>10} {'peak GiB':>9}")
    for height, width in SIZES:
        for mode in ("quick", "removal"):
            start = time.perf_counter()
            done = subprocess.run(
                [sys.executable, __file__, weights, mode, str(height), str(width)],
                check=True,
                capture_output=True,
                text=True,
            )
            seconds = time.perf_counter() - start
            processor, peak = done.stdout.split()
            print(f"{mode:8} {height}×{width:<6} {seconds:8.1f} {processor:>10} {peak:>9}")


def once(weights: str, mode: str, height: int, width: int) -> None:
    import numpy as np

    from deshadow.remover import Remover, options_from

    rng = np.random.default_rng(0)
    pixels = rng.uniform(0.4, 0.8, (height, width, 3)).astype(np.float32)
    rows, columns = np.ogrid[:height, :width]
    shadow = ((rows / height - 0.5) ** 2 + (columns / width - 0.5) ** 2) < 0.2 / np.pi
    pixels[shadow] *= 0.5
    found = Remover(weights).relight(pixels, shadow, options_from({"mode": mode}))
    assert found is not None
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(f"{used.ru_utime + used.ru_stime:.1f} {used.ru_maxrss / 2**20:.2f}")


if __name__ == "__main__":
    if len(sys.argv) == 5:
        once(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        main()
