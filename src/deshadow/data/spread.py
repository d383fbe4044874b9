"""A few out of many."""

from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


def spread(items: Sequence[Item], most: int) -> list[Item]:
    """As many of the items as asked for, evenly spaced from the first to the last; all if there are fewer."""
    if len(items) <= most:
        return list(items)
    return [items[round(k * (len(items) - 1) / max(1, most - 1))] for k in range(most)]
