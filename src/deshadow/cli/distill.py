"""`deshadow distill`: a student from a teacher. It imports what it needs when it runs."""

from deshadow.cli.parameters import Forwarded


def distill(*options: Forwarded) -> None:
    """Train a student from a teacher; `deshadow distill --help` lists the options."""
    from deshadow.system.extras import require

    require("train", "torch", "matplotlib")
    from deshadow.cli.training import parse_tokens
    from deshadow.training.comparison import COMPARISON
    from deshadow.training.curves import draw_curves
    from deshadow.training.distill import DISTILL
    from deshadow.training.distill import distill as run
    from deshadow.training.endings import run_and_exit

    chosen = DISTILL.parse(options, parse_tokens)
    folder = run_and_exit(lambda: run(chosen))
    if (folder / COMPARISON).exists():  # not yet, where it was paused
        print((folder / COMPARISON).read_text(encoding="utf-8"))  # noqa: T201
    print(draw_curves(folder))  # noqa: T201
