"""Command lines from dataclasses: the options of a command are the fields of its dataclass.

A field whose type is itself a dataclass is a group; the fields of groups stand on the command line beside
all others, so that names must differ between groups. The docstring after a field is its help. Both parsers
are built from the same list: argparse here, cyclopts in `deshadow.cli.training`.
"""

import argparse
import ast
import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass, replace
from functools import cache
from itertools import pairwise
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

Group = TypeVar("Group")


@dataclass(frozen=True)
class Argument:
    """One option of a command line."""

    name: str
    """The field's name."""
    type: Any
    """The field's type, without the None that it may be instead."""
    default: Any
    """The field's default."""
    help: str

    @property
    def flag(self) -> str:
        """The option as it is typed."""
        return flag_of(self.name)


def flag_of(name: str) -> str:
    """The option of a field: `--save-every` of `save_every`."""
    return f"--{name.replace('_', '-')}"


def list_arguments(kind: type) -> dict[str, Argument]:
    """The options of a dataclass and of its groups, by name."""
    return {name: argument for name, (_, argument) in _placed(kind).items()}


def list_defaults(kind: type) -> dict[str, Any]:
    """The defaults of these options, by name."""
    return {name: argument.default for name, argument in list_arguments(kind).items()}


def build(kind: type[Group], values: Mapping[str, Any]) -> Group:
    """A dataclass with these values for its own fields and those of its groups, by name."""
    known = _placed(kind)
    unknown = [name for name in values if name not in known]
    assert not unknown, f"{kind.__name__} has no {unknown}"
    own: dict[str, Any] = {name: value for name, value in values.items() if not known[name][0]}
    hints = get_type_hints(kind)
    for each in fields(kind):  # type: ignore[arg-type]
        if is_dataclass(hints[each.name]):
            part = {name: value for name, value in values.items() if known[name][0] == each.name}
            own[each.name] = replace(default_of(each), **part) if part else default_of(each)
    return kind(**own)


def flatten(options: Any) -> dict[str, Any]:
    """The values of a dataclass and of its groups, by name."""
    return {
        name: getattr(getattr(options, group) if group else options, name)
        for name, (group, _) in _placed(type(options)).items()
    }


def change(options: Group, values: Mapping[str, Any]) -> Group:
    """The same options with other values, by name, for fields of its own and of its groups."""
    return build(type(options), flatten(options) | dict(values))


def _placed(kind: type) -> dict[str, tuple[str, Argument]]:
    """The options by name, each with the group that it belongs to; "" where it is a field of its own."""
    found: dict[str, tuple[str, Argument]] = {}
    hints, helps = get_type_hints(kind), docstrings(kind)
    for each in fields(kind):
        default, hint = default_of(each), hints[each.name]
        if is_dataclass(hint):
            assert isinstance(hint, type)
            inner, texts = get_type_hints(hint), docstrings(hint)
            for name in (part.name for part in fields(hint)):
                assert name not in found, f"two options are called {name}"
                argument = Argument(name, plain(inner[name]), getattr(default, name), texts[name])
                found[name] = each.name, argument
        else:
            assert each.name not in found, f"two options are called {each.name}"
            found[each.name] = "", Argument(each.name, plain(hint), default, helps[each.name])
    return found


def default_of(each: "Field[Any]") -> Any:
    """The default of a field, which every field of these dataclasses has."""
    return each.default if each.default_factory is MISSING else each.default_factory()


def plain(kind: Any) -> Any:
    """The type of a field, without the None that it may be instead."""
    if get_origin(kind) not in (Union, UnionType):
        return kind
    return next(part for part in get_args(kind) if part is not type(None))


@cache
def docstrings(kind: type) -> dict[str, str]:
    """The docstring behind each field of a class and of what it inherits, in one line each."""
    found = {}
    for each in reversed(kind.__mro__[:-1]):
        body = ast.parse(inspect.getsource(each)).body[0]
        assert isinstance(body, ast.ClassDef)
        for before, after in pairwise(body.body):
            if isinstance(before, ast.AnnAssign) and isinstance(after, ast.Expr):
                assert isinstance(before.target, ast.Name)
                assert isinstance(after.value, ast.Constant)
                found[before.target.id] = " ".join(str(after.value.value).split())
    return found


class Parser(argparse.ArgumentParser):
    """Raises ValueError where argparse would print its usage and exit."""

    def error(self, message: str) -> Any:
        """Raise what the command line turns into one line."""
        raise ValueError(f"{message} ({self.prog} --help lists the options)")


def parse_arguments(
    tokens: Sequence[str], arguments: Mapping[str, Argument], prog: str, about: str, positional: Sequence[str]
) -> dict[str, Any]:
    """The value of every argument on a command line, by argparse; those in `positional` have no flag."""
    parser = Parser(prog=prog, description=about, allow_abbrev=False)
    for argument in arguments.values():
        text = argument.help.replace("%", "%%")
        if argument.name in positional:
            name, how = argument.name, {"nargs": "?", "type": argument.type, "metavar": argument.name.upper()}
        elif argument.type is bool:
            name, how = argument.flag, {"action": argparse.BooleanOptionalAction}
        elif get_origin(argument.type) is Literal:
            name, how = argument.flag, {"choices": get_args(argument.type)}
        else:
            name, how = argument.flag, {"type": argument.type, "metavar": argument.type.__name__.upper()}
        if argument.default not in (None, ""):
            text = f"{text} ({argument.default})"
        parser.add_argument(name, default=argument.default, help=text, **how)
    return vars(parser.parse_intermixed_args(tokens))


def check_shares(options: Any, *names: str) -> None:
    """Refuse values that are not between 0 and 1."""
    for name in names:
        if not 0 <= getattr(options, name) <= 1:
            raise ValueError(f"{flag_of(name)} is a share: it must lie between 0 and 1")


def check_counts(options: Any, *names: str) -> None:
    """Refuse values under 1."""
    for name in names:
        if getattr(options, name) < 1:
            raise ValueError(f"{flag_of(name)} must be 1 or more")


def check_numbers(options: Any, *names: str) -> None:
    """Refuse values that are negative, infinite or not a number."""
    for name in names:
        if not 0 <= getattr(options, name) < math.inf:
            raise ValueError(f"{flag_of(name)} must be a number, 0 or above")
