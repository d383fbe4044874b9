"""What `deshadow PHOTOS` prints: a line for each photo, a summary, and how far it came before Ctrl-C."""

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from deshadow.photo.formats import format_of
from deshadow.removal.tasks import STANDARD_STREAM

if TYPE_CHECKING:
    from deshadow.removal.outcomes import Outcome


def describe_outcome(outcome: "Outcome") -> str:
    """One line about a photo that did not fail."""
    place = outcome.outputs[0] if outcome.outputs else ""
    match outcome.state:
        case "skipped":
            return f"{place}: exists already, skipped"
        case "no shadow" if outcome.left_out:
            return f"{place}: no certain shadow found, so this is {outcome.photo} unchanged"
        case "no shadow":
            return f"{place}: no shadow found, so this is {outcome.photo} unchanged"
        case "all excluded":
            return f"{place}: all shadows are excluded, so this is {outcome.photo} unchanged"
        case "empty mask":
            return f"{place}: the mask is empty, so this is {outcome.photo} unchanged"
    shadow, changed = (f"{100 * share:.0f} %" for share in (outcome.shadow_share, outcome.touched_share))
    line = f"{place}: removed shadows from {shadow} of the photo, {changed} of its pixels changed, "
    line += f"in {outcome.seconds:.1f} s"
    if outcome.compression_loss:
        kind = format_of(Path(place)) if place != STANDARD_STREAM else outcome.format
        mean, most = outcome.compression_loss.mean, round(outcome.compression_loss.most)
        line += f"; {kind} compression changed the other pixels by {mean:.2f} of 255 levels on average, "
        line += f"{most} at most"
    return line


def summarise(outcomes: "Collection[Outcome]", seconds: float) -> str:
    """How many photos are done, unchanged, failed and skipped."""
    states = [outcome.state for outcome in outcomes]
    unchanged = sum(states.count(state) for state in ("no shadow", "all excluded", "empty mask"))
    line = f"{len(states)} photos in {seconds:.1f} s: {states.count('done')} done, {unchanged} unchanged, "
    line += f"{states.count('failed')} failed"
    return line + (f", {states.count('skipped')} skipped" if "skipped" in states else "")


def describe_stop(outcomes: "Collection[Outcome]", photos: int) -> str:
    """What Ctrl-C leaves of a run."""
    if photos == 1:
        return "stopped before the photo was done"
    ended = sum(outcome.state != "failed" for outcome in outcomes)
    return f"stopped: {ended} of {photos} photos are done; --skip-existing continues with the others"
