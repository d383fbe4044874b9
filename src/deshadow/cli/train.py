"""`deshadow train`: trains a model. It imports what it needs when it runs."""

from deshadow.cli.parameters import Forwarded


def train(*options: Forwarded) -> None:
    """Train a model; `deshadow train --help` lists the options."""
    from deshadow.system.extras import require

    require("train", "torch", "matplotlib")
    from deshadow.cli.training import parse_tokens
    from deshadow.training.curves import draw_curves
    from deshadow.training.endings import run_and_exit
    from deshadow.training.loop import train as run
    from deshadow.training.options import TRAIN

    chosen = TRAIN.parse(options, parse_tokens)
    run_and_exit(lambda: run(chosen))
    print(draw_curves(chosen.out))  # noqa: T201
