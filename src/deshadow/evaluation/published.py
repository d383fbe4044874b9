"""Rows of published tables, as printed, and a test of which of them cannot be right."""

from typing import NamedTuple

Cell = float | None


class Row(NamedTuple):
    """What is printed as RMSE (a mean absolute LAB error), PSNR and SSIM of each region; None: not given."""

    method: str
    shadow: tuple[Cell, Cell, Cell] = (None, None, None)
    non_shadow: tuple[Cell, Cell, Cell] = (None, None, None)
    all: tuple[Cell, Cell, Cell] = (None, None, None)


class Published(NamedTuple):
    """A published table."""

    data: str
    source: str
    rows: tuple[Row, ...]


def impossible(row: Row) -> bool:
    """Whether the error of the whole picture lies outside those of its two parts, of which it is a mean."""
    shadow, non_shadow, whole = row.shadow[0], row.non_shadow[0], row.all[0]
    if shadow is None or non_shadow is None or whole is None:
        return False
    return not min(shadow, non_shadow) <= whole <= max(shadow, non_shadow)


_PAPER = "Mei et al., WACV 2024"

PUBLISHED_TABLES = (
    Published(
        "AISTD",
        f"{_PAPER}, Tab. 1",
        (
            Row("SP+M-Net", (5.93, 37.96, 0.990), (3.05, 35.77, 0.973), (3.51, 32.90, 0.957)),
            Row("DHAN", (11.38, 33.18, 0.987), (7.15, 27.10, 0.972), (7.81, 25.65, 0.954)),
            Row("Param+M+D-Net", (9.67, 33.46, 0.985), (2.91, 34.85, 0.974), (3.98, 30.13, 0.945)),
            Row("G2R-ShadowNet", (7.38, 36.24, 0.988), (3.00, 35.26, 0.975), (3.69, 31.90, 0.953)),
            Row("Auto-Exposure", (6.57, 36.30, 0.976), (3.83, 31.10, 0.874), (4.27, 29.44, 0.838)),
            Row("DC-ShadowNet", (10.57, 32.15, 0.976), (3.82, 34.99, 0.969), (4.80, 28.75, 0.925)),
            Row("EMDN", (7.94, 36.44, 0.986), (4.78, 31.80, 0.962), (5.28, 29.98, 0.940)),
            Row("SG-ShadowNet", (5.93, 37.25, 0.989), (3.00, 35.27, 0.975), (3.46, 32.42, 0.956)),
            Row("BMN", (5.69, 38.00, 0.991), (2.52, 37.35, 0.981), (3.02, 33.93, 0.966)),
            Row("Palette", (15.40, None, None), (7.82, None, None), (6.41, None, None)),
            Row("RePaint", (12.90, None, None), (10.66, None, None), (24.90, None, None)),
            Row("LFG-Diffusion", (5.15, 39.36, 0.991), (2.47, 37.69, 0.981), (2.90, 34.69, 0.968)),
            Row("shadow picture", (39.72, 20.87, 0.944), (2.51, 36.63, 0.980), (8.38, 20.45, 0.908)),
        ),
    ),
    Published(
        "ISTD",
        f"{_PAPER}, Tab. 2a",
        (
            Row("DHAN", (7.53, 35.82, 0.989), (5.33, 30.95, 0.971), (5.68, 29.09, 0.953)),
            Row("G2R-ShadowNet", (10.72, 31.63, 0.975)),
            Row("Auto-Exposure", (7.82, 34.94, 0.973), (5.59, 28.57, 0.862), (5.94, 27.19, 0.824)),
            Row("DC-ShadowNet", (11.43, 31.69, 0.976), (5.86, 28.92, 0.956), (6.62, 26.38, 0.917)),
            Row("EMDN", (7.94, 36.44, 0.986), (4.78, 31.80, 0.962), (5.28, 29.98, 0.940)),
            Row("BMN", (7.44, 35.73, 0.989), (4.61, 32.73, 0.976), (5.06, 30.26, 0.957)),
            Row("LFG-Diffusion", (6.41, 37.19, 0.990), (4.65, 32.60, 0.977), (4.93, 30.64, 0.963)),
            Row("shadow picture", (32.67, 22.43, 0.953), (6.77, 27.27, 0.974), (10.86, 20.56, 0.908)),
        ),
    ),
    Published(
        "SRD",
        f"{_PAPER}, Tab. 2b; whole pictures: the authors of each",
        (
            Row("DHAN", (8.94, 33.67, 0.978)),
            Row("Auto-Exposure", (8.86, 34.93, 0.963)),
            Row("DC-ShadowNet", (7.86, 36.34, 0.970)),
            Row("EMDN", (9.83, 32.48, 0.928)),
            Row("SG-ShadowNet", (8.00, 35.53, 0.974)),
            Row("BMN", (7.40, 36.81, 0.979)),
            Row("LFG-Diffusion", (6.81, 37.42, 0.979)),
            Row("ShadowDiffusion", all=(3.63, 34.73, None)),
            Row("HomoFormer", all=(3.33, 35.37, None)),
            Row("ShadowHack", all=(2.90, 35.94, None)),
            Row("shadow picture", (46.24, 19.95, 0.889)),
        ),
    ),
)
