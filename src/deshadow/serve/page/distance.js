// Distances on a coarse grid over the photo. A grown mask is a threshold of them, so that dilation is seen at once.

const CELLS = 450_000;
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

/** Squared distances to the nearest cell for which `seed` holds: lower envelopes of parabolas, rows after columns. */
function squared(cells, columns, rows, seed) {
  const field = new Float32Array(cells.length);
  for (let x = 0; x < columns; x++) {
    let gap = FAR;
    for (let y = 0, i = x; y < rows; y++, i += columns) {
      gap = seed(cells, i) ? 0 : gap + 1;
      field[i] = gap;
    }
    gap = FAR;
    for (let y = rows - 1, i = x + y * columns; y >= 0; y--, i -= columns) {
      gap = field[i] === 0 ? 0 : gap + 1;
      const d = Math.min(field[i], gap);
      field[i] = d < 1e5 ? d * d : FAR;
    }
  }
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

/** Smooth a field a little, both ways: the stairs of the cells go, the edge stays. */
function smooth(field, columns, rows) {
  const line = new Float32Array(Math.max(columns, rows));
  const pass = (start, step, count) => {
    for (let i = 0, at = start; i < count; i++, at += step) line[i] = field[at];
    for (let i = 1, at = start + step; i < count - 1; i++, at += step) {
      field[at] = (line[i - 1] + 2 * line[i] + line[i + 1]) / 4;
    }
  };
  for (let y = 0; y < rows; y++) pass(y * columns, 1, columns);
  for (let x = 0; x < columns; x++) pass(x, columns, rows);
  return field;
}

/**
 * The mask on the grid, the distance in pixels of the photo to its edge (negative inside), and how far outside it a
 * cell lies as squares count, the larger of across and down: the mask grows by squares.
 */
export function maskDistance(grid, mask) {
  const cells = sample(grid, mask);
  return { cells, edge: signed(grid, cells), square: square(grid, cells) };
}

function square({ columns, rows, size }, cells) {
  const field = new Float32Array(cells.length);
  const sweep = (first, step, back) => {
    for (let n = 0, i = first; n < cells.length; n++, i += step) {
      const x = i % columns;
      let d = back ? field[i] : cells[i] ? 0 : 1e6;
      const row = i - step * columns;
      if (x > 0 && n >= columns) d = Math.min(d, field[row - 1] + 1);
      if (x < columns - 1 && n >= columns) d = Math.min(d, field[row + 1] + 1);
      if (n >= columns) d = Math.min(d, field[row] + 1);
      if (step > 0 ? x > 0 : x < columns - 1) d = Math.min(d, field[i - step] + 1);
      field[i] = d;
    }
  };
  sweep(0, 1, false);
  sweep(cells.length - 1, -1, true);
  for (let i = 0; i < field.length; i++) field[i] = field[i] ? Math.min(1e6, (field[i] - 0.5) * size) : 0;
  return smooth(field, columns, rows);
}

function signed(grid, cells) {
  const outside = squared(cells, grid.columns, grid.rows, (c, i) => c[i] !== 0);
  const inside = squared(cells, grid.columns, grid.rows, (c, i) => c[i] === 0);
  for (let i = 0; i < outside.length; i++) {
    const d = cells[i] ? 0.5 - Math.sqrt(inside[i]) : Math.sqrt(outside[i]) - 0.5;
    outside[i] = Math.max(-1e6, Math.min(1e6, d * grid.size));
  }
  return smooth(outside, grid.columns, grid.rows);
}

/** Distance in pixels of the photo to the edge of the nearest shadow that is not hidden; and the labels on the grid. */
export function borderDistance(grid, labels, hidden) {
  const cells = sample(grid, labels);
  const shown = cells.map((number) => (hidden.has(number) ? 0 : number));
  const { columns, rows } = grid;
  const field = signed(grid, shown).map(Math.abs);
  // Two shadows that touch have a border that their common outline does not show.
  const touches = (c, i) =>
    (c[i] && i % columns < columns - 1 && c[i + 1] && c[i + 1] !== c[i]) ||
    (c[i] && i + columns < c.length && c[i + columns] && c[i + columns] !== c[i]);
  if (shown.some((_, i) => touches(shown, i))) {
    squared(shown, columns, rows, touches).forEach((d, i) => (field[i] = Math.min(field[i], Math.sqrt(d) * grid.size)));
  }
  return { field, cells };
}
