"""`python -m deshadow.evaluation`: `deshadow evaluate` with torch, numpy, Pillow and safetensors alone.

Its options are the fields of `Comparison`. It prints one line for each method; --json has all figures.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from deshadow.evaluation.options import Comparison, Outputs
from deshadow.evaluation.protocol import Evaluation
from deshadow.evaluation.record import scores_of
from deshadow.evaluation.run import run
from deshadow.metrics.pooling import pool


def main(arguments: Sequence[str] | None = None) -> None:
    """Evaluate, print the figures, and end with exit code 2 where the user can correct an error."""
    given = vars(make_parser().parse_args(arguments))
    names = {each.name for each in fields(Comparison)}
    comparison = Comparison(**{name: value for name, value in given.items() if name in names})
    try:
        found = run(
            given["folder"], comparison, Outputs(given["json"]), split=given["split"], limit=given["limit"]
        )
    except (ValueError, OSError) as error:
        sys.stderr.write(f"deshadow: {' '.join(str(error).split())}\n")
        sys.exit(2)
    for evaluation in found:
        sys.stdout.write(f"{describe(evaluation)}\n")


def make_parser() -> argparse.ArgumentParser:
    """A parser of the folder, the fields of a comparison, --split, --limit and --json."""
    parser = argparse.ArgumentParser(prog="python -m deshadow.evaluation", description=__doc__)
    parser.add_argument("folder", type=Path)
    hints = get_type_hints(Comparison)
    for each in fields(Comparison):
        flag, kind = f"--{each.name.replace('_', '-')}", hints[each.name]
        how: dict[str, Any] = {"type": next(iter(get_args(kind))) if isinstance(kind, UnionType) else kind}
        if get_origin(kind) is Sequence:
            how = {"action": "append"}
        elif get_origin(kind) is Literal:
            how = {"choices": get_args(kind)}
        parser.add_argument(flag, default=[] if how.get("action") else each.default, **how)
    parser.add_argument("--split")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--json", type=Path)
    return parser


def describe(evaluation: Evaluation) -> str:
    """LAB error in the shadow, outside it and everywhere at 256 × 256, and PSNR of the whole picture."""
    regions = pool(scores_of(evaluation, native=False))
    errors = " / ".join(f"{region.lab_mae:.2f}" for region in regions.values())
    method, count = evaluation.method, len(evaluation.pictures)
    return f"{method.name}: LAB {errors}, {regions['all'].psnr:.2f} dB, {count} pictures; {method.note}"


if __name__ == "__main__":
    main()
