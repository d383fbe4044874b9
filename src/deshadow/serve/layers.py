"""What a removal changed, kept so that the next one can start from it without any loss of a file format."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deshadow.serve.store import write

_FULL = 65535


@dataclass(frozen=True)
class Layer:
    """`pixels` (h, w, 3) 16-bit sRGB and `touched` (h, w) of the part of the picture from (top, left) on."""

    top: int
    left: int
    pixels: NDArray[np.uint16]
    touched: NDArray[np.bool_]

    def laid_over(self, picture: NDArray[np.float32]) -> NDArray[np.float32]:
        """(H, W, 3) in [0, 1] → the same with the touched pixels in their place."""
        picture = picture.copy()
        height, width = self.touched.shape
        part = picture[self.top : self.top + height, self.left : self.left + width]
        part[self.touched] = self.pixels[self.touched].astype(np.float32) / _FULL
        return picture

    def everywhere(self, height: int, width: int) -> NDArray[np.bool_]:
        """(H, W): what it touches of the whole picture."""
        touched = np.zeros((height, width), np.bool_)
        rows, columns = self.touched.shape
        touched[self.top : self.top + rows, self.left : self.left + columns] = self.touched
        return touched

    def save(self, path: Path) -> int:
        """Write it; says how many bytes."""
        head = np.array([self.top, self.left, *self.touched.shape], np.int64)
        return write(path, head.tobytes() + self.pixels.tobytes() + self.touched.tobytes())


def layer(picture: NDArray[np.float32], touched: NDArray[np.bool_]) -> Layer:
    """The smallest layer that holds the touched pixels of (H, W, 3) in [0, 1]."""
    rows, columns = np.flatnonzero(touched.any(1)), np.flatnonzero(touched.any(0))
    if not rows.size:
        rows = columns = np.zeros(1, np.int64)
    box = np.s_[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    codes = np.rint(np.clip(picture[box], 0, 1) * np.float32(_FULL)).astype(np.uint16)
    return Layer(int(rows[0]), int(columns[0]), codes, touched[box])


def load(path: Path) -> Layer:
    """Read what `save` wrote."""
    data = path.read_bytes()
    top, left, height, width = (int(value) for value in np.frombuffer(data, np.int64, 4))
    pixels = np.frombuffer(data, np.uint16, height * width * 3, 32).reshape(height, width, 3)
    touched = np.frombuffer(data, np.bool_, height * width, 32 + pixels.nbytes).reshape(height, width)
    return Layer(top, left, pixels, touched)
