// Imports and exports the mask of a photo as a file.

import { save } from "./opening.js";
import { decodeGrey, encodeMask } from "./png.js";

const TOLERANCE = 2; // pixels by which one side may differ at the smaller of both sizes, as in removal/masks.py

/** Replace the mask of a photo by a picture; returns a sentence that says why it cannot be, or null. */
export async function importMask(editing, file) {
  let found;
  try {
    found = await decodeGrey(file, (r, g, b, a) => (Math.max(r, g, b) * a > 127 * 255 ? 1 : 0));
  } catch {
    return "The browser cannot read this mask: use a PNG.";
  }
  const { width, height } = editing.photo;
  const [small, large] = [found, { width, height }].sort((a, b) => a.width * a.height - b.width * b.height);
  const missed = [
    small.height - (small.width * large.height) / large.width,
    small.width - (small.height * large.width) / large.height,
  ];
  if (Math.min(...missed.map(Math.abs)) > TOLERANCE) {
    const sizes = `the mask is ${found.width} × ${found.height}, the photo ${width} × ${height}`;
    return `The mask has another shape than the photo: ${sizes}.`;
  }
  if (!found.data.includes(1)) return "This mask is all black: it marks no shadow.";
  editing.mask.stretch(found.data, found.width, found.height);
  editing.painted("Mask imported");
  return null;
}

/** Download the mask of a photo as a PNG. */
export async function exportMask({ mask, photo }) {
  save(await encodeMask(mask.data, mask.width, mask.height), `${photo.name.replace(/\.[^.]*$/, "")}.mask.png`);
}
