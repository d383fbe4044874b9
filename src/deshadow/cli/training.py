"""The options of `deshadow train`, `ablate` and `distill`, by cyclopts, from their dataclasses."""

import inspect
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

if TYPE_CHECKING:
    from deshadow.training.arguments import Argument


def parse_tokens(
    tokens: Sequence[str],
    arguments: "Mapping[str, Argument]",
    prog: str,
    about: str,
    positional: Sequence[str],
) -> dict[str, Any]:
    """The value of every argument on a command line; those in `positional` have no flag.

    It is `deshadow.training.arguments.parse_arguments` with the looks of the other commands.
    """

    def collect(*places: Any, **values: Any) -> dict[str, Any]:
        given = values | dict(zip(positional, places, strict=False))
        return {name: argument.default for name, argument in arguments.items()} | given

    collect.__doc__ = about
    collect.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [_parameter(arguments[name], inspect.Parameter.POSITIONAL_ONLY) for name in positional]
        + [
            _parameter(argument, inspect.Parameter.KEYWORD_ONLY)
            for name, argument in arguments.items()
            if name not in positional
        ]
    )
    app = App(name=prog, help_format="markdown", version_flags=[])
    app.default(collect)
    values = app(tokens, exit_on_error=False, print_error=False, result_action="return_value")
    if values is None:  # --help was asked for, and printed
        raise SystemExit(0)
    found: dict[str, Any] = values
    return found


def _parameter(argument: "Argument", kind: Any) -> inspect.Parameter:
    annotation = Annotated[argument.type | None, Parameter(help=argument.help)]  # type: ignore[name-defined]
    return inspect.Parameter(argument.name, kind, default=argument.default, annotation=annotation)
