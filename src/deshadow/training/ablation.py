"""Ablations: the rows of the paper's Tab. 3 and Tab. 4 and its diffusion baselines, each a training run.

`python -m deshadow.training.ablation` is `deshadow ablate` with torch, numpy, Pillow and safetensors alone.
"""

import json
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from deshadow.data.augment import Pairs
from deshadow.nn.config import ModelConfig
from deshadow.runtime import checkpoint
from deshadow.system.files import write_whole
from deshadow.training.arguments import change
from deshadow.training.batches import Source, open_source
from deshadow.training.collapse import draw_collapse, measure_collapse
from deshadow.training.command import Command
from deshadow.training.endings import Interrupted, run_and_exit
from deshadow.training.figures import measure_figures
from deshadow.training.options import (
    AugmentationOptions,
    DataOptions,
    Length,
    Machine,
    ModelOptions,
    Objective,
    Optimization,
    TrainingOptions,
    ValidationOptions,
)
from deshadow.training.row import check_begun, is_done, say, try_row, write_record
from deshadow.training.rows import INPUT, ROWS, SECOND
from deshadow.training.state import WEIGHTS
from deshadow.training.tables import read_results, write_tables
from deshadow.training.validation import make_validation_set
from deshadow.training.world import join_processes


@dataclass(frozen=True)
class Ablation:
    """The options of all rows; each row changes some of them (`rows.ROWS`)."""

    out: Path = Path("runs/ablation")
    """Folder of the tables, with a folder for the run of each row."""
    rows: str = ",".join(ROWS)
    """The rows to run, in this order."""
    inputs: DataOptions = field(default_factory=DataOptions)
    augmentation: AugmentationOptions = field(default_factory=AugmentationOptions)
    network: ModelOptions = field(default_factory=ModelOptions)
    objective: Objective = field(default_factory=Objective)
    lag: int = 5
    """Steps of the denoiser alone before each step of denoiser and encoder, in the row `lagged`."""
    length: Length = field(default_factory=Length)
    optimization: Optimization = field(default_factory=Optimization)
    # A validation takes time, which counts, and each row is validated at its end anyhow.
    validation: ValidationOptions = field(default_factory=lambda: ValidationOptions(validate_every=10**9))
    noise_steps: int = 50
    """Sampling steps with which rows that predict noise or v are scored."""
    machine: Machine = field(default_factory=Machine)
    seed: int = 0
    """Seed of all random numbers."""

    def __post_init__(self) -> None:
        unknown = [name for name in self.names if name not in ROWS]
        if unknown:
            raise ValueError(f"unknown row {unknown[0]!r}: choose from {', '.join(ROWS)}")
        whole = self.network.config
        if not isinstance(whole, ModelConfig) or whole.fusion != "vector" or whole.guidance != "latent":
            raise ValueError(
                "an ablation leaves parts of the method out: "
                "start from a model with vector fusion and a latent"
            )
        if not self.objective.invariant:
            raise ValueError("an ablation leaves parts of the method out: --invariant must be above 0")
        if self.validation.val_count < 2:
            raise ValueError(
                "--val-count must be 2 or more: a row is scored with another picture's latent too"
            )
        if self.lag < 1 and "lagged" in self.names:
            raise ValueError("--lag must be 1 or more for the row lagged")
        for name in self.names:
            self.row(name)

    @property
    def names(self) -> list[str]:
        """The rows to run."""
        return list(dict.fromkeys(name.strip() for name in self.rows.split(",")))

    def row(self, name: str) -> TrainingOptions:
        """The training run of a row."""
        whole = TrainingOptions(
            out=self.out / name,
            inputs=self.inputs,
            augmentation=self.augmentation,
            network=self.network,
            objective=self.objective,
            length=self.length,
            optimization=self.optimization,
            validation=self.validation,
            machine=self.machine,
            seed=self.seed,
        )
        changes = dict(ROWS[name])
        if name == "lagged":
            changes["lag"] = self.lag
        if name.endswith(SECOND):
            changes["seed"] = self.seed + 1
        if "predicts" in changes:
            changes["val_steps"] = self.noise_steps
        return change(whole, changes)


ABLATE = Command(
    "ablate",
    "Train and score the rows of the paper's ablations. The same command continues where one stopped.",
    Ablation,
    positional=("data",),
)


def parse_ablation(tokens: Sequence[str]) -> Ablation:
    """An ablation from a command line."""
    return ABLATE.parse(tokens)


def main(arguments: Sequence[str] | None = None) -> Path:
    """Run an ablation; returns the path of its tables. A user's error ends in one line and exit code 2."""
    return run_and_exit(lambda: ablate(parse_ablation(sys.argv[1:] if arguments is None else arguments)))


def ablate(options: Ablation) -> Path:
    """Run the rows that are not done yet, and write the tables and the collapse picture."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise ValueError(
            "ablate runs in one process: give each GPU a call with other --rows and the same --out"
        )
    for name in options.names:
        check_begun(options.row(name))
    if options.network.init is not None:
        checkpoint.locate(options.network.init)
    began, waiting = time.monotonic(), [name for name in options.names if not is_done(options.out / name)]

    @lru_cache(maxsize=1)
    def open_data(inputs: DataOptions) -> tuple[Source, Pairs]:  # once for rows that share it
        row = replace(options.row("latent"), inputs=inputs)
        with join_processes(options.machine.device) as world:
            source = open_source(row, world.device)
        return source, make_validation_set(row, source)

    if waiting:
        open_data(options.inputs)  # so that bad data ends the call before any row starts
    if not is_done(options.out / INPUT):
        pairs = open_data(options.inputs)[1]
        write_record(options.out / INPUT, measure_figures(pairs.picture, pairs))
    try:
        for name in waiting:
            left = (options.length.pause_after or math.inf) - (time.monotonic() - began) / 60
            if name == waiting[0]:
                left = max(left, 1e-6)  # each call runs a step at least, however long opening the data took
            elif left < 1:
                left = 0.0  # a row would hardly have begun when it is paused
            if left > 0:
                say(f"row {options.names.index(name) + 1} of {len(options.names)}: {name}")
            if left <= 0 or not try_row(options.row(name), open_data, left):
                say("paused; the same command continues")
                break
    except (Interrupted, KeyboardInterrupt):
        say("the same command continues this row")
        raise
    finally:
        results = read_results([options.out])
        tables = write_tables(results, options.out)
    draw_from_rows(
        options, lambda: open_data(options.inputs)[1], anew=bool({"latent", "no-fusion"} & set(waiting))
    )
    records = results["rows"]
    failed = [name for name in options.names if "failed" in records.get(name, {})]
    if failed:
        first = f"{failed[0]} ({records[failed[0]]['failed']})"
        raise ValueError(
            f"these rows failed: {', '.join([first, *failed[1:]])}; see {tables}, then try again"
        )
    return tables


def draw_from_rows(options: Ablation, pairs: Callable[[], Pairs], *, anew: bool) -> None:
    """Draw the collapse picture (Fig. 6) from the rows without and with fusion, once both are done."""
    rows = {"without fusion": "no-fusion", "dense fusion (ours)": "latent"}
    figure = options.out / "collapse.json"
    if not all(is_done(options.out / name) for name in rows.values()):
        return
    if anew or not figure.exists():
        weights = {title: str(options.out / name / WEIGHTS) for title, name in rows.items()}
        found = measure_collapse(weights, pairs(), seed=options.seed)
        write_whole(figure, json.dumps(found, allow_nan=False).encode() + b"\n")
    if find_spec("matplotlib") is not None:
        draw_collapse(json.loads(figure.read_text()), figure.with_suffix(".png"))


if __name__ == "__main__":
    main()
