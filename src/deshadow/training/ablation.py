"""Ablations: the rows of the paper's Tab. 3 and Tab. 4 and its diffusion baselines, each a training run.

`python -m deshadow.training.ablation` is `deshadow ablate` with torch, numpy, Pillow and safetensors alone.
"""

import gc
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
from typing import Any

import torch

from deshadow.data.augment import Pairs
from deshadow.nn.config import ModelConfig
from deshadow.runtime import checkpoint
from deshadow.runtime.torch_backend import TorchBackend
from deshadow.system.files import write_whole
from deshadow.training.arguments import change
from deshadow.training.batches import Source, open_source
from deshadow.training.collapse import draw_collapse, measure_collapse
from deshadow.training.endings import Interrupted, run_and_exit
from deshadow.training.figures import measure_figures
from deshadow.training.journal import LOG, read_log
from deshadow.training.loop import train
from deshadow.training.options import (
    AugmentationOptions,
    Command,
    DataOptions,
    Length,
    Machine,
    ModelOptions,
    Objective,
    Optimization,
    TrainingOptions,
    ValidationOptions,
)
from deshadow.training.state import STATE, WEIGHTS
from deshadow.training.tables import INPUT, RECORD, ROWS, read_records, write_tables
from deshadow.training.transplant import transplant
from deshadow.training.validation import LATENT_FIGURES, make_validation_set, remove_shadows
from deshadow.training.world import join_processes

OpenData = Callable[[DataOptions], tuple[Source, Pairs]]
"""What a row is trained on, and what it is scored on."""
BEGUN = "options.json"
"""File in the folder of a row: the options that it was started with."""
MAY_DIFFER = {
    *("out", "backgrounds", "occluders", "skip_problems"),
    *("resume", "pause_after", "device", "compiled", "bfloat16"),
    *("save_every", "log_every", "validate_every"),
}
"""Options that may change when a row is resumed: where files lie, and how the row is computed."""


@dataclass(frozen=True)
class Ablation:
    """The options of all rows; each row changes some of them (`tables.ROWS`)."""

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
    """Sampling steps with which rows that predict noise are scored."""
    machine: Machine = field(default_factory=Machine)
    seed: int = 0
    """Seed of all random numbers."""

    def __post_init__(self) -> None:
        unknown = [name for name in self.names if name not in ROWS]
        if unknown:
            raise ValueError(f"unknown row {unknown[0]!r}: choose from {', '.join(ROWS)}")
        whole = self.network.config
        if not isinstance(whole, ModelConfig) or whole.fusion == "none" or whole.guidance != "latent":
            raise ValueError(
                "an ablation leaves parts of the method out: start from a model with fusion and a latent"
            )
        if not self.objective.invariant:
            raise ValueError("an ablation leaves parts of the method out: --invariant must be above 0")
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
        row = replace(options.row(options.names[0]), inputs=inputs)
        with join_processes(options.machine.device) as world:
            source = open_source(row, world.device)
        return source, make_validation_set(row, source)

    if waiting:
        open_data(options.inputs)  # so that bad data ends the call before any row starts
    options.out.mkdir(parents=True, exist_ok=True)
    try:
        if not is_done(options.out / INPUT):
            pairs = open_data(options.inputs)[1]
            write_record(options.out / INPUT, measure_figures(pairs.picture, pairs))
        for name in waiting:
            left = (options.length.pause_after or math.inf) - (time.monotonic() - began) / 60
            if name == waiting[0]:
                left = max(left, 1e-6)  # each call runs a step at least, however long opening the data took
            if left > 0:
                say(f"row {options.names.index(name) + 1} of {len(options.names)}: {name}")
            if left <= 0 or not try_row(options, name, open_data, left):
                say("paused; the same command continues")
                break
    except (Interrupted, KeyboardInterrupt):
        say("the same command continues this row")
        raise
    finally:
        tables = write_tables(options.out)
    draw_from_rows(
        options, lambda: open_data(options.inputs)[1], anew=bool({"ours", "no-fusion"} & set(waiting))
    )
    records = read_records(options.out)
    failed = [name for name in options.names if "failed" in records.get(name, {})]
    if failed:
        first = f"{failed[0]} ({records[failed[0]]['failed']})"
        raise ValueError(
            f"these rows failed: {', '.join([first, *failed[1:]])}; see {tables}, then try again"
        )
    return tables


def try_row(options: Ablation, name: str, open_data: OpenData, left: float) -> bool:
    """Run a row, or record why it failed; False if it was paused."""
    try:
        return run_row(options, name, open_data, left)
    except Interrupted:
        raise
    except Exception as error:  # the other rows run all the same
        reason = " ".join(str(error).split()) or type(error).__name__
        say(f"row {name} failed: {reason}")
        write_record(options.out / name, {"failed": reason})
        return True
    finally:
        # torch keeps compiled code by its line in the source, which all rows share, for a few models only.
        torch.compiler.reset()
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def run_row(options: Ablation, name: str, open_data: OpenData, left: float) -> bool:
    """Start or resume a row for at most `left` minutes, and score it; False if it was paused."""
    row = options.row(name)
    row.out.mkdir(parents=True, exist_ok=True)
    resumes = (row.out / STATE).exists()
    if not resumes:  # it was killed before it saved anything
        (row.out / LOG).unlink(missing_ok=True)
    begun = comparable(row)
    write_whole(row.out / BEGUN, json.dumps(begun).encode())
    changes: dict[str, Any] = {"resume": resumes}
    share = None
    if options.network.init is not None:
        changes["init"] = str(row.out / f"init{checkpoint.SUFFIX}")
        share = transplant(options.network.init, row.network.model, options.seed, Path(changes["init"]))
    if left < math.inf:
        changes["pause_after"] = left
    row = change(row, changes)
    source, pairs = open_data(row.inputs)
    validation = train(row, source=source.for_run(row))
    ending = read_log(row.out)[-1]
    if ending["kind"] != "end":
        return False
    model = checkpoint.load_remover(row.out / WEIGHTS)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    alive = row.network.model.guidance == "latent"
    removed = remove_shadows(
        TorchBackend(model, str(source.device)),
        pairs,
        row.validation.val_steps,
        row.seed,
        anchor=row.validation.val_anchor,
    )
    write_record(
        row.out,
        {
            **measure_figures(removed, pairs),
            "pictures": len(pairs.picture),
            "steps": row.validation.val_steps,
            "anchor": row.validation.val_anchor,
            "images": ending["images"],
            "minutes": ending["elapsed"] / 60,
            "parameters": parameters,
            **{name: getattr(validation, name) if alive else None for name in LATENT_FIGURES},
            "from_init": share,
            "options": begun,
        },
    )
    return True


def write_record(folder: Path, found: dict[str, Any]) -> None:
    """Write the figures of a row, or why it failed; a row with figures counts as done."""
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / RECORD, json.dumps(found, indent=1, allow_nan=False).encode() + b"\n")


def is_done(folder: Path) -> bool:
    """Whether a row has its figures."""
    path = folder / RECORD
    return path.exists() and "failed" not in json.loads(path.read_text())


def comparable(row: TrainingOptions) -> dict[str, Any]:
    """The options that must stay the same when a row is resumed; of paths only the names of the files."""
    found: dict[str, Any] = json.loads(row.to_json())
    names = {
        "data": None if row.inputs.data is None else row.inputs.data.resolve().name,
        "init": None if row.network.init is None else Path(row.network.init).name,
        "encoder": None if row.network.encoder is None else Path(row.network.encoder).name,
    }
    return {name: value for name, value in found.items() if name not in MAY_DIFFER} | names


def check_begun(row: TrainingOptions) -> None:
    """Refuse to resume a row that was started with other options."""
    path = row.out / BEGUN
    if not path.exists():
        return
    begun, asked = json.loads(path.read_text()), comparable(row)
    for name, value in asked.items():
        if begun.get(name) != value:
            raise ValueError(
                f"{row.out} was started with {name} {begun.get(name)}, not {value}: "
                "give the same options, or name another --out"
            )


def draw_from_rows(options: Ablation, pairs: Callable[[], Pairs], *, anew: bool) -> None:
    """Draw the collapse picture (Fig. 6) from the rows without and with fusion, once both are done."""
    rows = {"without fusion": "no-fusion", "dense fusion (ours)": "ours"}
    figure = options.out / "collapse.json"
    if not all(is_done(options.out / name) for name in rows.values()):
        return
    if anew or not figure.exists():
        weights = {title: str(options.out / name / WEIGHTS) for title, name in rows.items()}
        found = measure_collapse(weights, pairs(), seed=options.seed)
        write_whole(figure, json.dumps(found, allow_nan=False).encode() + b"\n")
    if find_spec("matplotlib") is not None:
        draw_collapse(json.loads(figure.read_text()), figure.with_suffix(".png"))


def say(text: str) -> None:
    """Write a line to the terminal."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    main()
