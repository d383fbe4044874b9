"""What can be chosen on the command line, apart from all that needs numpy."""

from typing import Literal

Mode = Literal["network", "quick", "removal"]
"""Whose result is scored: the network's own at 256 × 256, or that of the whole path of a photo."""
Masks = Literal["given", "detected", "grown", "shrunk", "boxed"]
"""The set's own, found ones, or its own made worse: by 8 pixels at 256 × 256, or the box around them."""
