"""`deshadow ablate`: the rows of the paper's ablations. It imports what it needs when it runs."""

from deshadow.cli.parameters import Forwarded


def ablate(*options: Forwarded) -> None:
    """Train and score the rows of the paper's ablations; `deshadow ablate --help` lists the options."""
    from deshadow.system.extras import require

    require("train", "torch", "matplotlib")
    from deshadow.cli.training import parse_tokens
    from deshadow.training.ablation import ABLATE
    from deshadow.training.ablation import ablate as run
    from deshadow.training.endings import run_and_exit

    chosen = ABLATE.parse(options, parse_tokens)
    tables = run_and_exit(lambda: run(chosen))
    print(tables.read_text(encoding="utf-8"))  # noqa: T201
    print(tables)  # noqa: T201
