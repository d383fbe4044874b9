"""How much of an evaluation is not the model: reading, resizing and scoring, as a share of the run.

python benchmarks/evaluation.py DATA SPLIT CHECKPOINT [PICTURES]
"""

import sys
import time
from pathlib import Path

from deshadow.data.pairs.find import find
from deshadow.evaluation.build import build_methods
from deshadow.evaluation.options import Comparison
from deshadow.evaluation.protocol import choose_samples, evaluate_method


def main() -> None:
    folder, split, checkpoint, *rest = sys.argv[1:]
    [method] = build_methods(Comparison(weights=[checkpoint], steps=["4"], device="cpu"))
    samples = choose_samples(find(Path(folder), split), int(rest[0]) if rest else None)
    start = time.perf_counter()
    found = evaluate_method(method, samples)
    run = time.perf_counter() - start
    model = sum(picture.seconds for picture in found.pictures)
    print(f"{len(samples)} pictures, {method.note}: {run / len(samples):.3f} s a picture, ", end="")
    print(f"{model / len(samples):.3f} s of them the model; the rest is {1 - model / run:.1%} of the run")


if __name__ == "__main__":
    main()
