"""Procedural surfaces: brick, tiles, asphalt and more, and dark things that are not shadows."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from deshadow.data.rng import Draws

# All drawers return sRGB (B, 3, S, S) in [0, 1].


def noise(draws: Draws, stream: str, size: int, across: int, octaves: int = 4, stretch: int = 1) -> Tensor:
    """Smooth noise (B, 1, S, S) of about unit deviation: `across` lumps over the picture and finer ones.

    `stretch` makes the lumps that many times longer than wide.
    """
    total = torch.zeros(len(draws.index), 1, size, size, device=draws.index.device)
    power = 0.0
    for octave in range(octaves):
        cells = min(across * 2**octave, size)
        coarse = draws.normal(f"{stream}/{octave}", 1, cells + 3, max(4, cells // stretch + 3))
        weight = 0.6**octave
        fine = F.interpolate(coarse, size=(size, size), mode="bicubic", align_corners=True)
        total = total + weight * fine
        power += 0.55 * weight**2
        if cells == size:
            break
    return total * (1 / math.sqrt(power))


def speckle(draws: Draws, stream: str, size: int) -> Tensor:
    """White noise (B, 1, S, S) of unit deviation."""
    return (draws.grain(stream, size, size).sum(0) * 3**0.5)[:, None]


def colour(
    draws: Draws, stream: str, palette: tuple[tuple[int, int, int], ...], spread: float = 0.06
) -> Tensor:
    """One colour (B, 3, 1, 1) of the palette, a little off."""
    table = torch.tensor(palette, device=draws.index.device) / 255
    chosen = table[draws.integers(stream, high=len(table))]
    shift = spread * draws.normal(f"{stream}/light", 1) + 0.15 * spread * draws.normal(f"{stream}/hue", 3)
    return (chosen + shift).clamp(0.03, 0.97)[:, :, None, None]


def coordinates(draws: Draws, size: int) -> tuple[Tensor, Tensor]:
    """Coordinates x, y (B, 1, S, S) on the surface, turned a little and seen at a slant at times."""
    line = torch.linspace(-1, 1, size, device=draws.index.device)
    y, x = torch.meshgrid(line, line, indexing="ij")
    turned = draws.chance("view/turned", 1, 1, 1, of=0.4)
    angle = torch.where(turned, draws.uniform("view/angle", 1, 1, 1, low=-0.8, high=0.8), 0.0)
    slant = torch.where(turned, draws.uniform("view/slant", 1, 1, 1, high=0.45), 0.0)
    depth = 1 + slant * y
    x, y = x / depth, y / depth
    return x * torch.cos(angle) - y * torch.sin(angle), x * torch.sin(angle) + y * torch.cos(angle)


def pick_cell(table: Tensor, row: Tensor, column: Tensor) -> Tensor:
    """Values (B, C, S, S) of cell (row, column) from a table (B, C, T, T) that repeats."""
    side = table.shape[-1]
    place = (row % side).long() * side + (column % side).long()
    flat = table.flatten(2)
    return flat.gather(2, place.flatten(2).expand(-1, flat.shape[1], -1)).view(
        len(flat), -1, *place.shape[-2:]
    )


def ramp(value: Tensor, low: Tensor | float, high: Tensor | float) -> Tensor:
    """0 below `low`, 1 above `high`, smooth between."""
    t = ((value - low) / (high - low)).clamp(0, 1)
    return t * t * (3 - 2 * t)


def blocks(
    draws: Draws, size: int, offset: float, rows: Tensor, aspect: Tensor, gap: Tensor
) -> tuple[Tensor, ...]:
    """A wall of blocks: how solid (B, 1, S, S), three numbers per block (B, 3, S, S), light on its rim."""
    x, y = coordinates(draws, size)
    wobble = 0.3 * gap * noise(draws, "blocks/wobble", size, 24, 3)
    v = (y + 1.5) * rows / 2
    row = torch.floor(v)
    u = (x + 1.5) * rows / 2 / aspect + offset * (row % 2)
    column = torch.floor(u)
    left, top = (u - column) * aspect, v - row
    edge = torch.minimum(torch.minimum(left, aspect - left), torch.minimum(top, 1 - top)) + wobble
    solid = ramp(edge, gap * 0.6, gap * 1.4)
    numbers = pick_cell(draws.uniform("blocks/table", 3, 24, 24), row, column)
    rim = ramp(edge, gap, gap * 3.5) - 1
    lit = rim * torch.where(top < 0.5, -0.5, 0.6) * solid
    return solid, numbers, lit


def brick(draws: Draws, size: int) -> Tensor:
    """A brick wall or paving."""
    rows = draws.uniform("brick/rows", 1, 1, 1, low=6, high=13)
    aspect = draws.uniform("brick/aspect", 1, 1, 1, low=2.0, high=2.9)
    gap = draws.uniform("brick/gap", 1, 1, 1, low=0.05, high=0.1)
    solid, numbers, lit = blocks(draws, size, 0.5, rows, aspect, gap)
    base = colour(
        draws, "brick/colour", ((158, 84, 66), (176, 122, 92), (142, 112, 98), (188, 158, 128), (120, 70, 60))
    )
    mortar = colour(draws, "brick/mortar", ((178, 170, 158), (150, 142, 132), (120, 114, 108)), 0.03)
    tone = 0.17 * (numbers[:, :1] - 0.5) + 0.02 * (numbers - 0.5)
    grain = 0.045 * noise(draws, "brick/grain", size, 40, 4) + 0.03 * speckle(draws, "brick/speckle", size)
    face = base * (1 + tone * 1.6 + grain + 0.3 * lit)
    bed = mortar * (0.86 + 0.06 * noise(draws, "brick/bed", size, 64, 3))
    return soil(draws, torch.lerp(bed, face, solid), size, 0.05)


def tiles(draws: Draws, size: int) -> Tensor:
    """Floor tiles or paving slabs, some checkered."""
    rows = draws.uniform("tiles/rows", 1, 1, 1, low=2.5, high=7)
    gap = draws.uniform("tiles/gap", 1, 1, 1, low=0.012, high=0.03)
    solid, numbers, lit = blocks(draws, size, 0.0, rows, torch.ones_like(rows), gap)
    base = colour(
        draws,
        "tiles/colour",
        ((196, 186, 170), (168, 166, 162), (206, 200, 190), (150, 138, 126), (182, 150, 124)),
    )
    veins = 0.05 * noise(draws, "tiles/veins", size, 5, 6) + 0.02 * noise(draws, "tiles/fine", size, 60, 3)
    two = torch.where(draws.chance("tiles/checkered", 1, 1, 1, of=0.25), 0.5, 0.08)
    face = base * (1 - two * ramp(numbers[:, :1], 0.45, 0.55) + veins + 0.15 * lit)
    face = face + 0.012 * speckle(draws, "tiles/speckle", size)
    return soil(draws, torch.lerp(base * 0.62, face, solid), size, 0.035)


def planks(draws: Draws, size: int) -> Tensor:
    """Wooden boards with grain along them."""
    rows = draws.uniform("planks/rows", 1, 1, 1, low=4, high=9)
    aspect = draws.uniform("planks/aspect", 1, 1, 1, low=5, high=9)
    solid, numbers, lit = blocks(draws, size, 0.37, rows, aspect, torch.full_like(rows, 0.022))
    x, y = coordinates(draws, size)
    base = colour(
        draws,
        "planks/colour",
        ((170, 128, 88), (140, 98, 66), (186, 154, 116), (150, 136, 120), (116, 82, 58)),
    )
    long = noise(draws, "planks/long", size, 20, 4, stretch=10)
    rings = torch.sin(
        (y * rows * 9 + numbers[:, 1:2] * 40) + 2.2 * noise(draws, "planks/bend", size, 3, 3) + x * 2
    )
    face = base * (1 + 0.22 * (numbers[:, :1] - 0.5) + 0.055 * rings + 0.05 * long + 0.2 * lit)
    face = face + 0.015 * speckle(draws, "planks/speckle", size)
    return soil(draws, torch.lerp(base * 0.35, face, solid), size, 0.03)


def asphalt(draws: Draws, size: int) -> Tensor:
    """Asphalt or concrete: grains of all shades, cracks at times."""
    base = colour(
        draws, "asphalt/colour", ((118, 116, 114), (138, 134, 128), (98, 98, 100), (164, 158, 150)), 0.04
    )
    stones = noise(draws, "asphalt/stones", size, size // 3, 1)
    grit = 0.13 * stones.clamp(-2, 2.5) + 0.1 * speckle(draws, "asphalt/speckle", size)
    broad = 0.025 * noise(draws, "asphalt/broad", size, 4, 4)
    flecks = 0.16 * ramp(noise(draws, "asphalt/flecks", size, size // 3, 1), 1.4, 2.0)
    path = noise(draws, "asphalt/path", size, 3, 5).abs()
    cracked = draws.chance("asphalt/cracked", 1, 1, 1, of=0.4)
    crack = torch.where(cracked, 0.45 * (1 - ramp(path, 0.0, 0.022)), 0.0)
    return soil(draws, base * (1 + grit + broad + flecks) * (1 - crack), size, 0.03)


def grass(draws: Draws, size: int) -> Tensor:
    """Short grass: blades in layers, dry ones among them, earth below."""
    base = colour(draws, "grass/colour", ((98, 114, 64), (112, 126, 74), (88, 102, 58), (132, 132, 88)), 0.03)
    dry = colour(draws, "grass/dry", ((168, 156, 102), (148, 132, 90)), 0.03)
    earth = colour(draws, "grass/earth", ((104, 86, 64), (90, 78, 60)), 0.03)
    patch = noise(draws, "grass/patch", size, 5, 4)
    result = earth * (0.75 + 0.1 * noise(draws, "grass/ground", size, 50, 3))
    for layer in range(4):
        # Upright blades: noise drawn out downwards, cut at a level, each layer lighter.
        fine = noise(draws, f"grass/{layer}", size, size // 4, 2)
        slim = F.avg_pool2d(F.pad(fine, (0, 0, 6, 6), mode="reflect"), (13, 1), 1)
        # Blades lean, each layer to its own side.
        slim = slim + 0.6 * torch.roll(slim, (3, 1 if layer % 2 else -1), (2, 3))
        blade = ramp(slim * 1.6, -0.25, 0.45)
        shade = 0.55 + 0.17 * layer + 0.12 * noise(draws, f"grass/{layer}/shade", size, 40, 2)
        mix = ramp(noise(draws, f"grass/{layer}/dry", size, 30, 3) + 0.6 * patch, 0.9, 1.8)
        result = torch.lerp(result, torch.lerp(base, dry, mix) * shade, blade * (0.9 - 0.1 * layer))
    return result * (1.08 + 0.05 * patch) + 0.015 * speckle(draws, "grass/speckle", size)


def plaster(draws: Draws, size: int) -> Tensor:
    """Plaster, sand, cloth or paper: one colour and noise."""
    base = colour(
        draws,
        "plaster/colour",
        (
            (212, 200, 178),
            (190, 176, 150),
            (222, 218, 210),
            (170, 184, 190),
            (204, 170, 140),
            (176, 172, 166),
        ),
        0.05,
    )
    rough = draws.uniform("plaster/rough", 1, 1, 1, low=0.3, high=1.6)
    bumps = noise(draws, "plaster/bumps", size, 48, 4)
    # Lit from above: the slope of the bumps, not their height, is seen.
    slope = bumps - torch.roll(bumps, 1, 2)
    broad = 0.03 * noise(draws, "plaster/broad", size, 3, 4)
    return soil(
        draws,
        base * (1 + rough * 0.11 * slope + broad) + 0.012 * speckle(draws, "plaster/speckle", size),
        size,
        0.03,
    )


def clouds(draws: Draws, size: int) -> Tensor:
    """Noise of all scales between two random colours."""
    colours = (
        (196, 188, 172),
        (128, 110, 92),
        (150, 160, 150),
        (92, 100, 112),
        (176, 132, 104),
        (206, 204, 198),
    )
    first, second = (
        colour(draws, "clouds/first", colours, 0.08),
        colour(draws, "clouds/second", colours, 0.08),
    )
    mix = ramp(noise(draws, "clouds/mix", size, 5, 7), -1.5, 1.5)
    return torch.lerp(first, second, mix) * (1 + 0.05 * noise(draws, "clouds/fine", size, size // 4, 2))


def soil(draws: Draws, picture: Tensor, size: int, strength: float) -> Tensor:
    """Dirt and fading that run over all of a surface."""
    return picture * (
        1
        + strength * noise(draws, "soil", size, 4, 5)
        + 0.4 * strength * noise(draws, "soil/fine", size, 30, 3)
    )


def add_dark_things(draws: Draws, picture: Tensor, of: float = 0.35) -> Tensor:
    """Add to sRGB pictures (B, 3, S, S), each by chance `of`, a stain, a painted band and a dark thing.

    They are dark and no shadow: what tells them apart is that they change the surface, not the light.
    """
    size = picture.shape[-1]
    line = torch.linspace(-1, 1, size, device=picture.device)
    y, x = torch.meshgrid(line, line, indexing="ij")

    def number(name: str, low: float, high: float) -> Tensor:
        return draws.uniform(f"dark/{name}", 1, 1, 1, low=low, high=high)

    def chance(name: str) -> Tensor:
        return draws.chance(f"dark/{name}", 1, 1, 1, of=of).float()

    px, py = x - number("stain/x", -0.8, 0.8), y - number("stain/y", -0.8, 0.8)
    lump = (
        0.5
        - torch.hypot(px, py) / number("stain/size", 0.4, 1.2)
        + 0.1 * noise(draws, "dark/stain", size, 5, 4)
    )
    stain = (
        ramp(lump, 0.0, number("stain/soft", 0.1, 0.35)) * chance("stain") * number("stain/depth", 0.45, 0.85)
    )
    oil = colour(draws, "dark/oil", ((52, 44, 38), (44, 42, 40), (74, 58, 44), (58, 62, 46)), 0.03)
    picture = torch.lerp(picture, oil * (0.6 + 0.8 * picture), stain)

    angle = number("band/angle", 0, 3.1416)
    across = x * torch.cos(angle) + y * torch.sin(angle) - number("band/at", -0.7, 0.7)
    worn = 0.55 + 0.4 * ramp(noise(draws, "dark/worn", size, 30, 5), -2.2, -0.2)
    band = (
        1 - ramp(across.abs(), number("band/width", 0.04, 0.16), number("band/width", 0.05, 0.17))
    ) * chance("band")
    paint = colour(draws, "dark/paint", ((40, 40, 44), (58, 44, 40), (34, 44, 66), (228, 226, 218)), 0.03)
    picture = torch.lerp(picture, paint * (1 + 0.05 * noise(draws, "dark/coat", size, 60, 3)), band * worn)

    angle = number("thing/angle", 0, 3.1416)
    px, py = x - number("thing/x", -0.75, 0.75), y - number("thing/y", -0.75, 0.75)
    across, along = (
        px * torch.cos(angle) + py * torch.sin(angle),
        py * torch.cos(angle) - px * torch.sin(angle),
    )
    order = torch.where(draws.chance("dark/thing/box", 1, 1, 1, of=0.5), 10.0, 2.0)
    wide = number("thing/wide", 0.5, 1.0)
    norm = ((across / wide).abs() ** order + along.abs() ** order) ** (1 / order)
    reach = number("thing/size", 0.1, 0.28)
    body = 1 - ramp(norm / reach, 0.97, 1.0)
    round_ = 1.25 - 0.5 * (norm / reach).clamp(0, 1) ** 3 - 0.15 * (py / reach).clamp(-1, 1)
    skin = colour(
        draws, "dark/thing", ((48, 46, 48), (60, 48, 40), (40, 52, 48), (44, 46, 70), (70, 40, 40)), 0.03
    )
    skin = skin * round_ * (1 + 0.06 * noise(draws, "dark/skin", size, 40, 3))
    return torch.lerp(picture, skin, body * chance("thing"))
