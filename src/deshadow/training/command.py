"""Commands whose options are a dataclass, and the recipes that set their defaults."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from deshadow.nn.config import DETECTORS
from deshadow.training.arguments import Argument, build, list_arguments, parse_arguments
from deshadow.training.recipes import RECIPES

Options = TypeVar("Options")
ParseTokens = Callable[
    [Sequence[str], Mapping[str, Argument], str, str, Sequence[str]],
    dict[str, Any],
]


@dataclass(frozen=True)
class Command(Generic[Options]):
    """A command whose options are a dataclass."""

    name: str
    """As it follows `deshadow`."""
    about: str
    """What it does, in one sentence."""
    options: type[Options]
    positional: tuple[str, ...] = ()
    """Options that are given by their place."""

    def parse(self, tokens: Sequence[str], parse_tokens: ParseTokens = parse_arguments) -> Options:
        """The options of a command line. `--recipe` sets the defaults, every other option overrides it."""
        arguments = with_recipe(list_arguments(self.options), tokens)
        values = parse_tokens(tokens, arguments, f"deshadow {self.name}", self.about, self.positional)
        del values["recipe"]
        return build(self.options, values)


def with_recipe(arguments: Mapping[str, Argument], tokens: Sequence[str]) -> dict[str, Argument]:
    """The arguments with the defaults of the recipe that a command line names, and `--recipe` itself.

    The preset of a detector brings its recipe along.
    """
    early = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    early.add_argument("--recipe")
    early.add_argument("--preset")
    found = early.parse_known_args(tokens)[0]
    recipe = found.recipe or (found.preset if found.preset in DETECTORS else "light")
    if recipe not in RECIPES:
        raise ValueError(f"unknown recipe {recipe!r}: choose from {', '.join(RECIPES)}")
    text = f"Training settings to start from: {', '.join(RECIPES)}. Other options override them."
    given = {
        name: replace(argument, default=RECIPES[recipe].get(name, argument.default))
        for name, argument in arguments.items()
    }
    return {"recipe": Argument("recipe", str, recipe, text), **given}
