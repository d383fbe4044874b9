// Distances on a coarse grid over the photo. A threshold of them is the dilated mask, so that it can be drawn at once.

const CELLS = 400_000;
const FAR = 1e12;

/** A grid over a photo: cells of `size` pixels, `columns` × `rows` of them. */
export function gridFor(width, height) {
  const size = Math.max(1, Math.sqrt((width * height) / CELLS));
  return { size, columns: Math.ceil(width / size), rows: Math.ceil(height / size), width, height };
}

/** The pixel of the photo under the middle of each cell. */
function sample(grid, data) {
  const cells = new Uint8Array(grid.columns * grid.rows);
  const columns = Uint32Array.from({ length: grid.columns }, (_, x) =>
    Math.min(grid.width - 1, Math.floor((x + 0.5) * grid.size)),
  );
  for (let y = 0, at = 0; y < grid.rows; y++) {
    const row = Math.min(grid.height - 1, Math.floor((y + 0.5) * grid.size)) * grid.width;
    for (let x = 0; x < grid.columns; x++) cells[at++] = data[row + columns[x]];
  }
  return cells;
}

/** Squared distances to the nearest cell that is `seed` (0 or 1): lower envelopes of parabolas, rows after columns. */
function squared(cells, columns, rows, seed) {
  const field = new Float32Array(cells.length);
  // First down, then up, row by row.
  for (let i = 0; i < cells.length; i++) {
    field[i] = cells[i] === seed ? 0 : i < columns ? FAR : field[i - columns] + 1;
  }
  for (let i = cells.length - columns - 1; i >= 0; i--) {
    const below = field[i + columns] + 1;
    if (below < field[i]) field[i] = below;
  }
  for (let i = 0; i < field.length; i++) field[i] = field[i] < 1e5 ? field[i] * field[i] : FAR;
  const where = new Int32Array(columns);
  const starts = new Float64Array(columns + 1);
  const line = new Float64Array(columns);
  for (let y = 0, base = 0; y < rows; y++, base += columns) {
    let last = -1;
    for (let x = 0; x < columns; x++) {
      const height = field[base + x];
      line[x] = height;
      if (height >= FAR) continue;
      let start = -Infinity;
      while (last >= 0) {
        const v = where[last];
        start = (height + x * x - line[v] - v * v) / (2 * (x - v));
        if (start > starts[last]) break;
        last--;
      }
      if (last < 0) start = -Infinity;
      where[++last] = x;
      starts[last] = start;
    }
    if (last < 0) continue;
    starts[last + 1] = Infinity;
    for (let x = 0, k = 0; x < columns; x++) {
      while (starts[k + 1] < x) k++;
      field[base + x] = (x - where[k]) ** 2 + line[where[k]];
    }
  }
  return field;
}

/** Smooth a field a little, so that edges do not show the cells of the grid. */
function smooth(field, columns, rows) {
  const before = new Float32Array(columns);
  const row = new Float32Array(columns);
  for (let y = 0, start = 0; y < rows; y++, start += columns) {
    row.set(field.subarray(start, start + columns));
    for (let x = 1; x < columns - 1; x++) field[start + x] = (row[x - 1] + 2 * row[x] + row[x + 1]) / 4;
  }
  before.set(field.subarray(0, columns));
  for (let start = columns; start < field.length - columns; start += columns) {
    for (let x = 0; x < columns; x++) {
      const here = field[start + x];
      field[start + x] = (before[x] + 2 * here + field[start + columns + x]) / 4;
      before[x] = here;
    }
  }
  return field;
}

/** The mask on the grid, and the distance in pixels of the photo to its edge (negative inside). */
export function maskDistance(grid, mask) {
  const cells = sample(grid, mask);
  return { cells, edge: signed(grid, cells) };
}

/**
 * Update the distances in place for a painted stroke from one point to another, up to `reach` around it. The depth
 * inside the mask is not exact until the next full computation.
 */
export function follow({ edge }, grid, from, to, radius, reach) {
  const { columns, rows, size } = grid;
  const discs = Math.ceil(Math.hypot(to.x - from.x, to.y - from.y) / Math.max(1, radius / 3)) + 1;
  const around = radius + reach;
  for (let n = 0; n < discs; n++) {
    const share = discs > 1 ? n / (discs - 1) : 0;
    const cx = from.x + (to.x - from.x) * share;
    const cy = from.y + (to.y - from.y) * share;
    const top = Math.max(0, Math.floor((cy - around) / size));
    const bottom = Math.min(rows - 1, Math.ceil((cy + around) / size));
    const left = Math.max(0, Math.floor((cx - around) / size));
    const right = Math.min(columns - 1, Math.ceil((cx + around) / size));
    for (let y = top; y <= bottom; y++) {
      const dy = (y + 0.5) * size - cy;
      for (let x = left, i = y * columns + left; x <= right; x++, i++) {
        const d = Math.hypot((x + 0.5) * size - cx, dy) - radius;
        if (d < edge[i]) edge[i] = d;
      }
    }
  }
}

function signed({ columns, rows, size }, cells) {
  const outside = squared(cells, columns, rows, 1);
  const inside = squared(cells, columns, rows, 0);
  for (let i = 0; i < outside.length; i++) {
    const d = cells[i] ? 0.5 - Math.sqrt(inside[i]) : Math.sqrt(outside[i]) - 0.5;
    outside[i] = Math.max(-1e6, Math.min(1e6, d * size));
  }
  return smooth(outside, columns, rows);
}

/** Distance in pixels of the photo to the edge of the nearest shadow that is not hidden; and the labels on the grid. */
export function borderDistance(grid, labels, hidden) {
  const cells = sample(grid, labels);
  const { columns, rows, size } = grid;
  const shown = cells.map((number) => (hidden.has(number) ? 0 : number));
  const inside = shown.map((number) => (number ? 1 : 0));
  const field = signed(grid, inside).map(Math.abs);
  // Two shadows that touch have a border that their common outline does not show.
  const touching = shown.map((number, i) => {
    const right = i % columns < columns - 1 ? shown[i + 1] : 0;
    const below = i + columns < shown.length ? shown[i + columns] : 0;
    return number && ((right && right !== number) || (below && below !== number)) ? 1 : 0;
  });
  if (touching.includes(1)) {
    squared(touching, columns, rows, 1).forEach((d, i) => (field[i] = Math.min(field[i], Math.sqrt(d) * size)));
  }
  return { field, cells };
}
