"""Procedural silhouettes: leaves, plants, people, hands, lumps, canopies, roofs, bars and cables."""

import torch
from torch import Tensor

from deshadow.data.grids import pixel_centres
from deshadow.data.rng import Draws

# All drawers work in [-1, 1]², y down, and return coverage (B, H, W) in [0, 1] from signed distances.


def plane(size: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Coordinates x (1, W) and y (H, 1) of pixel centres in [-1, 1]."""
    line = pixel_centres(size, device)
    return line[None, :], line[:, None]


def cover(distance: Tensor, size: int) -> Tensor:
    """Coverage from a signed distance (negative inside), with an edge of one pixel."""
    return (0.5 - distance * (size / 2)).clamp(0, 1)


def capsule(
    x: Tensor, y: Tensor, start: Tensor, end: Tensor, radius: Tensor, taper: Tensor | float = 1.0
) -> Tensor:
    """Signed distance (B, H, W) to limbs from `start` to `end` (B, 2), `taper` as thick there."""
    px, py = x - start[:, 0, None, None], y - start[:, 1, None, None]
    bx, by = (end - start).unbind(-1)
    along = (px * bx[:, None, None] + py * by[:, None, None]) / (bx**2 + by**2 + 1e-6)[:, None, None]
    along = along.clamp(0, 1)
    rest = torch.hypot(px - along * bx[:, None, None], py - along * by[:, None, None])
    shrink = 1 - along * (1 - taper) if isinstance(taper, float) else 1 - along * (1 - taper[:, None, None])
    return rest - radius[:, None, None] * shrink


def leaf(x: Tensor, y: Tensor, foot: Tensor, angle: Tensor, length: Tensor, breadth: Tensor) -> Tensor:
    """Signed distance, nearly, (B, H, W) to leaves that grow from `foot` (B, 2) along `angle` (B,)."""
    px, py = x - foot[:, 0, None, None], y - foot[:, 1, None, None]
    cosine, sine = torch.cos(angle)[:, None, None], torch.sin(angle)[:, None, None]
    along = (px * cosine + py * sine) / length[:, None, None]
    aside = (py * cosine - px * sine).abs()
    inside = along.clamp(0, 1)
    outline = length[:, None, None] * breadth[:, None, None] * 2.6 * inside * (1 - inside) ** 0.7
    beyond = (along - inside).abs() * length[:, None, None]
    return torch.where(beyond > 0, torch.hypot(aside, beyond), aside - outline)


def polar(radius: Tensor, angle: Tensor) -> Tensor:
    """Points (B, 2) from polar coordinates."""
    return torch.stack([radius * torch.cos(angle), radius * torch.sin(angle)], -1)


def person(draws: Draws, size: int) -> Tensor:
    """A figure that stands on the lower border, arms and legs in some pose."""
    x, y = (1.08 * line for line in plane(size, draws.index.device))
    up = -torch.pi / 2

    def number(name: str, low: float, high: float) -> Tensor:
        return draws.uniform(f"person/{name}", low=low, high=high)

    build = number("build", 0.85, 1.25)
    hip = torch.stack([number("hip", -0.06, 0.06), torch.full_like(build, 0.12)], -1)
    neck = hip + polar(number("torso", 0.55, 0.64), up + number("lean", -0.12, 0.12))
    head = neck + polar(number("neck", 0.19, 0.22), up + number("nod", -0.2, 0.2))
    wide = torch.stack([number("shoulders", 0.13, 0.19), torch.zeros_like(build)], -1)
    shape = capsule(x, y, head, head + 0.03, number("head", 0.115, 0.135))
    shape = torch.minimum(shape, capsule(x, y, neck, head, 0.06 * build))
    shape = torch.minimum(shape, capsule(x, y, neck + 0.13 * (hip - neck), hip, 0.17 * build, 0.85))
    for side, flip in (("left", -1.0), ("right", 1.0)):
        shoulder = neck + flip * wide + torch.tensor([0.0, 0.05], device=x.device)
        socket = hip + flip * 0.5 * wide
        shape = torch.minimum(shape, capsule(x, y, shoulder, socket, 0.12 * build, 0.95))
        raised = number(f"{side}/raise", 0.05, 1.0) ** 2
        arm = torch.pi / 2 - flip * (0.15 + 2.2 * raised)
        elbow = shoulder + polar(number(f"{side}/upper", 0.28, 0.33), arm)
        bend = arm - flip * number(f"{side}/bend", -0.3, 1.3)
        hand = elbow + polar(number(f"{side}/lower", 0.27, 0.32), bend)
        shape = torch.minimum(shape, capsule(x, y, shoulder, elbow, 0.062 * build, 0.8))
        shape = torch.minimum(shape, capsule(x, y, elbow, hand, 0.05 * build, 0.8))
        shape = torch.minimum(shape, capsule(x, y, hand, hand + polar(0.07 + 0 * build, bend), 0.042 * build))
        stride = torch.pi / 2 - flip * number(f"{side}/stride", 0.0, 0.3)
        knee = socket + polar(number(f"{side}/thigh", 0.4, 0.44), stride)
        foot = knee + polar(
            number(f"{side}/shin", 0.42, 0.48), stride + flip * number(f"{side}/knee", -0.05, 0.3)
        )
        shape = torch.minimum(shape, capsule(x, y, socket, knee, 0.1 * build, 0.75))
        shape = torch.minimum(shape, capsule(x, y, knee, foot, 0.075 * build, 0.65))
        toe = foot + torch.tensor([0.1 * flip, 0.03], device=x.device)
        shape = torch.minimum(shape, capsule(x, y, foot, toe, 0.045 * build))
    return cover(shape, size)


def hand(draws: Draws, size: int) -> Tensor:
    """A forearm from the lower border with a hand, its fingers spread or closed."""
    x, y = plane(size, draws.index.device)
    up = -torch.pi / 2
    lean = draws.uniform("hand/lean", low=-0.25, high=0.25)
    wrist = torch.stack([0.3 * lean, torch.full_like(lean, 0.15)], -1)
    elbow = wrist - polar(torch.full_like(lean, 1.3), up + lean)
    palm = wrist + polar(torch.full_like(lean, 0.3), up + lean)
    arm = draws.uniform("hand/arm", low=0.15, high=0.21)
    shape = torch.minimum(
        capsule(x, y, elbow, wrist, 1.35 * arm, 0.68), capsule(x, y, wrist, palm, arm + 0.02, 1.1)
    )
    spread = draws.uniform("hand/spread", low=0.03, high=0.22)
    folded = draws.chance("hand/folded", 4, of=0.2)
    for finger, length in enumerate((0.4, 0.47, 0.44, 0.34)):
        offset = (finger - 1.5) * 1.0
        root = palm + polar(torch.full_like(lean, 0.1), up + lean + 0.45 * offset) * 1.35
        reach = torch.where(folded[:, finger], 0.3, 1.0) * length
        tip = root + polar(reach, up + lean + offset * (0.08 + spread))
        shape = torch.minimum(shape, capsule(x, y, root, tip, torch.full_like(lean, 0.058), 0.8))
    thumb = wrist + polar(torch.full_like(lean, 0.14), up + lean - 1.2)
    tip = thumb + polar(torch.full_like(lean, 0.36), up + lean - 0.6 - spread)
    shape = torch.minimum(shape, capsule(x, y, thumb, tip, torch.full_like(lean, 0.07), 0.8))
    return cover(shape, size)


def lump(draws: Draws, size: int) -> Tensor:
    """A rounded or cornered lump: a stone, a bag, a ball, a box."""
    x, y = plane(size, draws.index.device)
    theta = torch.atan2(y + 0 * x, x + 0 * y)
    radius = torch.full_like(theta, 0.68)[None]
    for wave in range(1, 7):
        height = draws.normal(f"lump/{wave}", 1, 1) * 0.13 / wave**1.1
        radius = radius + height * torch.cos(wave * theta + draws.uniform(f"lump/{wave}/at", 1, 1, high=6.28))
    # A norm of high order makes the circle a box.
    order = torch.where(draws.chance("lump/box", 1, 1, of=0.35), 8.0, 2.0)
    wide = draws.uniform("lump/wide", 1, 1, low=0.82, high=1.2)
    norm = ((x / wide).abs() ** order + (y * wide).abs() ** order) ** (1 / order)
    # Whatever the lump, it ends before the border.
    return cover(torch.maximum(norm - radius.clamp(0.35, 0.77), torch.maximum(x.abs(), y.abs()) - 0.93), size)


def plant(draws: Draws, size: int) -> Tensor:
    """A plant of two or three bent stems with leaves on both sides."""
    x, y = plane(size, draws.index.device)
    shape = torch.full((len(draws.index), size, size), 1.0, device=x.device)
    for stem in range(3):
        bow = draws.uniform(f"plant/{stem}/bow", low=-0.55, high=0.55)
        high = draws.uniform(f"plant/{stem}/high", low=1.1, high=1.75)
        slant = draws.uniform(f"plant/{stem}/slant", low=-0.45, high=0.45)

        def at(t: float, bow: Tensor = bow, high: Tensor = high, slant: Tensor = slant) -> Tensor:
            return torch.stack([slant * t + bow * t * t, 0.98 - high * t], -1)

        for part in range(5):
            thick = torch.full_like(bow, 0.022 - 0.003 * part)
            shape = torch.minimum(shape, capsule(x, y, at(part / 5), at((part + 1) / 5), thick))
        for number in range(9):
            t = 0.16 + 0.84 * number / 8
            key = f"plant/{stem}/{number}"
            side = -1.0 if number % 2 else 1.0
            angle = -torch.pi / 2 + side * draws.uniform(f"{key}/angle", low=0.35, high=1.25)
            length = draws.uniform(f"{key}/length", low=0.26, high=0.5) * (1.15 - 0.55 * t)
            breadth = draws.uniform("plant/breadth", low=0.14, high=0.42)
            shape = torch.minimum(shape, leaf(x, y, at(t), angle, length, breadth))
    return cover(shape, size)


def canopy(draws: Draws, size: int) -> Tensor:
    """Leaves of a tree, seen from below; how dense they are varies over the picture."""
    x, y = plane(size, draws.index.device)
    shape = torch.full((len(draws.index), size, size), 1.0, device=x.device)
    for layer, across in enumerate((8, 12, 17)):
        cell = 2 / across
        column = torch.floor((x + 1) / cell).long().expand(size, size)
        row = torch.floor((y + 1) / cell).long().expand(size, size)
        table = draws.uniform(f"canopy/{layer}", across + 2, across + 2, 6)
        density = density_of(draws, across)
        for down in (-1, 0, 1):
            for right in (-1, 0, 1):
                r, c = row + down + 1, column + right + 1
                grown = table[:, r, c]  # (B, H, W, 6)
                here = density[:, r, c]
                centre_x = (column + right + grown[..., 0] * 1.4 - 0.2) * cell - 1
                centre_y = (row + down + grown[..., 1] * 1.4 - 0.2) * cell - 1
                angle = grown[..., 2] * (2 * torch.pi)
                px, py = x - centre_x, y - centre_y
                along = (px * torch.cos(angle) + py * torch.sin(angle)) / (
                    cell * (0.75 + 0.5 * grown[..., 3])
                )
                aside = (py * torch.cos(angle) - px * torch.sin(angle)).abs()
                half = cell * (0.28 + 0.2 * grown[..., 4]) * (1 - along**2).clamp_min(0)
                distance = torch.where(along.abs() < 1, aside - half, 1.0)
                shape = torch.minimum(shape, torch.where(grown[..., 5] < here, distance, 1.0))
    return cover(shape, size)


def density_of(draws: Draws, across: int) -> Tensor:
    """Chance (B, across + 2, across + 2) that a leaf grows in a cell: a slope and some lumps."""
    line = torch.linspace(-1, 1, across + 2, device=draws.index.device)
    angle = draws.uniform("canopy/side", 1, 1, high=2 * torch.pi)
    slope = torch.cos(angle) * line[None] + torch.sin(angle) * line[:, None]
    lumps = draws.normal("canopy/lumps", 3, 3)[:, None]
    lumps = torch.nn.functional.interpolate(
        lumps, size=(across + 2, across + 2), mode="bicubic", align_corners=True
    )
    full = draws.uniform("canopy/full", 1, 1, low=0.05, high=0.26)
    return full + draws.uniform("canopy/slope", 1, 1, low=0.1, high=0.5) * slope + 0.22 * lumps[:, 0]


def roof(draws: Draws, size: int) -> Tensor:
    """A wall that fills the lower part, its upper edge plain, stepped, gabled or with a chimney."""
    x, y = plane(size, draws.index.device)
    top = draws.uniform("roof/top", 1, 1, low=-0.25, high=0.15) + 0 * x
    centre = draws.uniform("roof/centre", 1, 1, low=-0.5, high=0.5)
    form = draws.integers("roof/form", 1, 1, high=4)
    pitch = draws.uniform("roof/pitch", 1, 1, low=0.35, high=1.1)
    gable = top - (0.75 - pitch * (x - centre).abs()).clamp_min(0)
    step = torch.where(x > centre, top - draws.uniform("roof/step", 1, 1, low=0.2, high=0.6), top)
    wide = draws.uniform("roof/chimney", 1, 1, low=0.06, high=0.16)
    chimney = torch.where((x - centre).abs() < wide, top - 0.4, top)
    line = torch.where(form == 1, gable, torch.where(form == 2, step, torch.where(form == 3, chimney, top)))
    return cover(line - y, size)


def bars(draws: Draws, size: int) -> Tensor:
    """Upright bars with rails, or the frame of a window."""
    x, y = plane(size, draws.index.device)
    number = 3 + draws.integers("bars/number", 1, 1, high=6)
    thick = draws.uniform("bars/thick", 1, 1, low=0.04, high=0.16)
    upright = (((x + 1) * number / 2) % 1 - 0.5).abs() / (number / 2) - thick / number
    rail = draws.uniform("bars/rail", 1, 1, low=0.02, high=0.07)
    high = draws.uniform("bars/high", 1, 1, low=0.55, high=0.85)
    rails = torch.minimum((y + high).abs(), (y - high).abs()) - rail
    slats = draws.chance("bars/slats", 1, 1, of=0.3)
    lattice = (((y + 1) * number / 2) % 1 - 0.5).abs() / (number / 2) - thick / number
    shape = torch.minimum(upright + 0 * y, torch.where(slats, lattice, rails) + 0 * x)
    return cover(shape, size)


def cables(draws: Draws, size: int) -> Tensor:
    """One to four sagging lines, at times with the pole that carries them."""
    x, y = plane(size, draws.index.device)
    shape = torch.full((len(draws.index), size, size), 1.0, device=x.device)
    number = 1 + draws.integers("cables/number", 1, 1, high=4)
    for cable in range(4):
        thick = draws.uniform(f"cables/{cable}/thick", 1, 1, low=0.006, high=0.02)
        level = draws.uniform(f"cables/{cable}/level", 1, 1, low=-0.6, high=0.6)
        # Level at both borders, so that a cable goes on without a kink.
        sag = draws.uniform(f"cables/{cable}/sag", 1, 1, low=0.0, high=0.12) * torch.cos(torch.pi * x)
        rise = draws.uniform(f"cables/{cable}/rise", 1, 1, low=-0.15, high=0.15) * torch.sin(torch.pi / 2 * x)
        distance = (y - level + sag - rise).abs() - thick
        shape = torch.where(cable < number, torch.minimum(shape, distance), shape)
    pole = (x - draws.uniform("cables/pole", 1, 1, low=-0.8, high=0.8)).abs() - 0.035 + 0 * y
    shape = torch.where(draws.chance("cables/poled", 1, 1, of=0.3), torch.minimum(shape, pole), shape)
    return cover(shape, size)
