"""`deshadow train`: trains a model. It imports what it needs when it runs."""

from deshadow.cli.parameters import Forwarded


def train(*options: Forwarded) -> None:
    """Train a model; `deshadow train --help` lists the options."""
    from deshadow.system.extras import require

    require("train", "torch", "matplotlib")
    from deshadow.training.__main__ import main as start
    from deshadow.training.curves import draw_curves

    folder = start(options)
    print(draw_curves(folder))  # noqa: T201
