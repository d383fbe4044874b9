// The mask: one byte for each pixel of the photo, 1 in the area to remove.

/** For each number in `labels` the share of its area, 0 to 1, that is in `mask`. */
export function shares(labels, mask) {
  const all = new Uint32Array(256);
  const covered = new Uint32Array(256);
  for (let i = 0; i < labels.length; i++) {
    all[labels[i]]++;
    if (mask[i]) covered[labels[i]]++;
  }
  return Float32Array.from(all, (count, number) => covered[number] / (count || 1));
}

export class Mask {
  constructor(width, height) {
    this.width = width;
    this.height = height;
    this.data = new Uint8Array(width * height);
  }

  /** Paint (1) or erase (0) everything within `radius` of the line from one point to another. */
  stroke(from, to, radius, value) {
    const { width, height, data } = this;
    const r = Math.max(radius, 0.5);
    const dx = to.x - from.x;
    const dy = to.y - from.y;
    const length2 = dx * dx + dy * dy;
    const top = Math.max(0, Math.floor(Math.min(from.y, to.y) - r));
    const bottom = Math.min(height - 1, Math.ceil(Math.max(from.y, to.y) + r));
    const left = Math.max(0, Math.floor(Math.min(from.x, to.x) - r));
    const right = Math.min(width - 1, Math.ceil(Math.max(from.x, to.x) + r));
    for (let y = top; y <= bottom; y++) {
      const py = y + 0.5 - from.y;
      // The part of the row inside the stroke is one run: find its two ends.
      const inside = (x) => {
        const px = x + 0.5 - from.x;
        const t = length2 ? Math.min(1, Math.max(0, (px * dx + py * dy) / length2)) : 0;
        return (px - t * dx) ** 2 + (py - t * dy) ** 2 <= r * r;
      };
      let first = left;
      let last = right;
      while (first <= last && !inside(first)) first++;
      while (last > first && !inside(last)) last--;
      if (first <= last) data.fill(value, y * width + first, y * width + last + 1);
    }
  }

  /** Set all pixels that carry one of these numbers in `labels`. */
  setLabels(labels, numbers, value) {
    const wanted = new Uint8Array(256);
    for (const number of numbers) wanted[number] = 1;
    const { data } = this;
    for (let i = 0; i < data.length; i++) if (wanted[labels[i]]) data[i] = value;
  }

  /** Add the area of another mask of the same size. */
  add({ data }) {
    for (let i = 0; i < data.length; i++) if (data[i]) this.data[i] = 1;
  }

  clear() {
    this.data.fill(0);
  }

  get empty() {
    return this.data.indexOf(1) < 0;
  }

  /** Run-length encoding: lengths of the runs of 0 and 1 in turn, beginning with 0. The history keeps one a step. */
  runs() {
    const { data } = this;
    const lengths = [];
    let value = 0;
    let start = 0;
    while (start < data.length) {
      let end = data.indexOf(1 - value, start);
      if (end < 0) end = data.length;
      lengths.push(end - start);
      start = end;
      value = 1 - value;
    }
    return { width: this.width, height: this.height, lengths: Uint32Array.from(lengths) };
  }

  /** Set the mask from runs; those of a picture of another size are resized. */
  restore({ width, height, lengths }) {
    const same = width === this.width && height === this.height;
    const source = same ? this.data : new Uint8Array(width * height);
    let at = 0;
    lengths.forEach((length, turn) => {
      source.fill(turn % 2, at, at + length);
      at += length;
    });
    if (!same) this.stretch(source, width, height);
  }

  /** Set the mask from one of another size, by nearest neighbour. */
  stretch(source, width, height) {
    const columns = Uint32Array.from({ length: this.width }, (_, x) => Math.floor(((x + 0.5) * width) / this.width));
    for (let y = 0; y < this.height; y++) {
      const row = Math.floor(((y + 0.5) * height) / this.height) * width;
      const into = y * this.width;
      for (let x = 0; x < this.width; x++) this.data[into + x] = source[row + columns[x]];
    }
  }
}
