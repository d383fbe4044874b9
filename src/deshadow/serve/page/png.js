// Encodes and decodes grey pictures without a canvas of the whole size, which phones refuse for large photos.

const TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n >>> 0;
});

/** The checksum (CRC-32) of PNG and zip. */
export function crc(bytes) {
  let c = 0xffffffff;
  for (const byte of bytes) c = TABLE[(c ^ byte) & 255] ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
}

function chunk(name, body) {
  const bytes = new Uint8Array(body.length + 12);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, body.length);
  for (let i = 0; i < 4; i++) bytes[4 + i] = name.charCodeAt(i);
  bytes.set(body, 8);
  view.setUint32(body.length + 8, crc(bytes.subarray(4, body.length + 8)));
  return bytes;
}

/** An 8-bit grey PNG: 255 where `data` (width × height) is not 0. */
export async function encodeMask(data, width, height) {
  const rows = new Uint8Array((width + 1) * height);
  for (let y = 0; y < height; y++) {
    for (let x = 0, from = y * width, to = y * (width + 1) + 1; x < width; x++) rows[to + x] = data[from + x] ? 255 : 0;
  }
  const deflated = new Response(new Blob([rows]).stream().pipeThrough(new CompressionStream("deflate")));
  const header = new Uint8Array(13);
  const view = new DataView(header.buffer);
  view.setUint32(0, width);
  view.setUint32(4, height);
  header[8] = 8; // bits; the rest is 0: grey, deflate, no filter, not interlaced
  const signature = Uint8Array.of(137, 80, 78, 71, 13, 10, 26, 10);
  const parts = [
    signature,
    chunk("IHDR", header),
    chunk("IDAT", new Uint8Array(await deflated.arrayBuffer())),
    chunk("IEND", new Uint8Array(0)),
  ];
  return new Blob(parts, { type: "image/png" });
}

const STRIP = 1 << 20;

/** Width, height and one byte for each pixel of a picture: `take(r, g, b, a)` says which. */
export async function decodeGrey(blob, take = (r) => r) {
  const bitmap = await createImageBitmap(blob, { colorSpaceConversion: "none", premultiplyAlpha: "none" });
  const { width, height } = bitmap;
  const rows = Math.max(1, Math.min(height, Math.floor(STRIP / width)));
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = rows;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const data = new Uint8Array(width * height);
  for (let top = 0; top < height; top += rows) {
    context.clearRect(0, 0, width, rows);
    context.drawImage(bitmap, 0, -top);
    const strip = context.getImageData(0, 0, width, Math.min(rows, height - top)).data;
    for (let i = 0, to = top * width; i < strip.length; i += 4) {
      data[to++] = take(strip[i], strip[i + 1], strip[i + 2], strip[i + 3]);
    }
  }
  bitmap.close();
  return { width, height, data };
}
