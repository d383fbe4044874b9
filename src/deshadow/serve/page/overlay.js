// Draws over the photo: outlines of the found shadows, the mask, and the mask as it will be dilated.

const LINE = [255, 255, 255];
const HALO = [12, 12, 14];
const LIGHT = [255, 186, 60];
const SHADE = [64, 132, 255];
const STRIPE = 5; // CSS pixels: the width of a stripe over a shadow that is not sure, and half of their distance

/** Value at (x, y) of a field on the grid, interpolated between its cells. */
function between(field, columns, rows, x, y) {
  const left = Math.max(0, Math.min(columns - 2, Math.floor(x)));
  const top = Math.max(0, Math.min(rows - 2, Math.floor(y)));
  const u = Math.max(0, Math.min(1, x - left));
  const v = Math.max(0, Math.min(1, y - top));
  const i = top * columns + left;
  const a = field[i] + (field[i + 1] - field[i]) * u;
  const b = field[i + columns] + (field[i + columns + 1] - field[i + columns]) * u;
  return a + (b - a) * v;
}

const clamp = (value) => (value < 0 ? 0 : value > 1 ? 1 : value);

/**
 * Draw into `image` (an ImageData with `density` pixels for each CSS pixel).
 *
 * scene: { view, grid, mask, edge, border, hidden, unsure, cells, labels, kept, hover, dilate, feather, tint }, all
 * lengths in pixels of the photo; `edge` and `border` may be null; `tint` is how strongly the found shadows are tinted,
 * except those whose number is set in `hidden`, and those in `unsure` in stripes; the mask is not dilated into the
 * shadows whose number is set in `kept`.
 */
export function drawOverlay(image, density, scene) {
  const { view, grid, mask, edge, border, hidden, unsure, cells, labels, kept, hover, dilate, feather, tint } = scene;
  const { columns, rows, size, width, height } = grid;
  const { data } = image;
  data.fill(0);
  const unit = view.scale * density; // pixels of the overlay for each pixel of the photo
  const { left, top, width: across, height: down } = view.rectangle;
  const firstX = Math.max(0, Math.ceil(left * density));
  const lastX = Math.min(image.width, Math.floor((left + across) * density));
  const firstY = Math.max(0, Math.ceil(top * density));
  const lastY = Math.min(image.height, Math.floor((top + down) * density));
  // Where a pixel of the photo is larger than one of the screen, draw the square edges of the pixels.
  const exact = unit >= 1.5 && size > 1.2;
  const thin = Math.max(1, 0.8 * density);
  const reach = (3 * density) / unit + 2 * size;
  const outer = dilate + feather + reach;
  const soft = Math.max(feather, 1 / unit);

  let r, g, b, a;
  const over = (colour, alpha) => {
    if (alpha <= 0) return;
    const sum = alpha + a * (1 - alpha);
    const share = alpha / sum;
    r += (colour[0] - r) * share;
    g += (colour[1] - g) * share;
    b += (colour[2] - b) * share;
    a = sum;
  };

  for (let oy = firstY; oy < lastY; oy++) {
    const y = ((oy + 0.5) / density - top) / view.scale;
    const cy = Math.min(rows - 1, Math.floor(y / size));
    const py = Math.min(height - 1, Math.floor(y)) * width;
    for (let ox = firstX; ox < lastX; ox++) {
      const x = ((ox + 0.5) / density - left) / view.scale;
      const cell = cy * columns + Math.min(columns - 1, Math.floor(x / size));
      const nearBorder = border !== null && border[cell] < reach;
      const nearMask = edge !== null && edge[cell] < outer;
      const found = border !== null && cells[cell] > 0 && !hidden[cells[cell]];
      const hovered = hover > 0 && cells[cell] === hover;
      if (!nearBorder && !nearMask && !hovered && !found) continue;
      r = g = b = a = 0;
      const gx = x / size - 0.5;
      const gy = y / size - 0.5;
      if (found || hovered) {
        const number = labels[py + Math.min(width - 1, Math.floor(x))];
        const gap = unsure[number] && (ox + oy) % (2 * STRIPE * density) > STRIPE * density;
        if (number && !hidden[number]) over(SHADE, (number === hover ? 0.45 : unsure[number] ? 0.4 : 0.2) * tint * !gap);
        else if (number && number === hover) over(LIGHT, 0.25);
      }
      if (nearMask) {
        const d = between(edge, columns, rows, gx, gy);
        const beyond = d - dilate;
        const px = Math.min(width - 1, Math.floor(x));
        const stays = labels !== null && kept[labels[py + px]] === 1;
        if (!stays) {
          // Full in the dilated mask; beyond it both the gain and its share in the result fade.
          const near = clamp(1 - beyond / soft);
          const weight = near * near * (3 - 2 * near);
          over(LIGHT, weight * weight * 0.24);
        }
        let core = clamp(0.5 - d * unit);
        let line = clamp(thin * 0.7 + 0.5 - Math.abs(d) * unit);
        if (exact) {
          core = mask[py + px];
          const before = ((ox - 0.5) / density - left) / view.scale;
          const above = ((oy - 0.5) / density - top) / view.scale;
          const step =
            mask[py + Math.max(0, Math.floor(before))] !== core ||
            mask[Math.max(0, Math.min(height - 1, Math.floor(above))) * width + px] !== core;
          line = step ? 1 : 0;
        }
        over(LIGHT, core * 0.2);
        if (dilate > 0 && !stays) over(LIGHT, 0.75 * clamp(thin * 0.5 + 0.5 - Math.abs(beyond) * unit));
        over(HALO, 0.6 * clamp(thin + 1.2 - Math.abs(d) * unit));
        over(LIGHT, line);
      }
      if (nearBorder) {
        const d = between(border, columns, rows, gx, gy) * unit;
        over(HALO, 0.62 * clamp(thin + 2 - d));
        over(LINE, clamp(thin * 0.8 + 0.5 - d));
      }
      const i = 4 * (oy * image.width + ox);
      data[i] = r;
      data[i + 1] = g;
      data[i + 2] = b;
      data[i + 3] = 255 * a;
    }
  }
}
