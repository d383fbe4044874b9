// Packs files into a zip archive without compressing them: photos are compressed already.

import { crc } from "./png.js";

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const UTF8 = 0x0800; // flag: names are in UTF-8

/** Date and time as MS-DOS wrote them, which the format still asks for. */
function stamp(date) {
  const time = (date.getHours() << 11) | (date.getMinutes() << 5) | (date.getSeconds() >> 1);
  return [time, ((date.getFullYear() - 1980) << 9) | ((date.getMonth() + 1) << 5) | date.getDate()];
}

/** The numbers of a header, each with its bytes (2 or 4). */
function pack(...fields) {
  const bytes = new Uint8Array(fields.reduce((sum, [, size]) => sum + size, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const [value, size] of fields) {
    if (size === 2) view.setUint16(at, value, true);
    else view.setUint32(at, value, true);
    at += size;
  }
  return bytes;
}

/** A zip archive of files, given as { name, file } with different names. */
export async function zip(entries, date = new Date()) {
  const [time, day] = stamp(date);
  const parts = [];
  const directory = [];
  let offset = 0;
  for (const { name, file } of entries) {
    const title = new TextEncoder().encode(name);
    const sum = crc(new Uint8Array(await file.arrayBuffer()));
    const common = [[20, 2], [UTF8, 2], [0, 2], [time, 2], [day, 2], [sum, 4], [file.size, 4], [file.size, 4], [title.length, 2], [0, 2]];
    parts.push(pack([LOCAL, 4], ...common), title, file);
    directory.push(pack([CENTRAL, 4], [20, 2], ...common, [0, 2], [0, 2], [0, 2], [0, 4], [offset, 4]), title);
    offset += 30 + title.length + file.size;
  }
  const size = directory.reduce((sum, part) => sum + part.length, 0);
  const count = entries.length;
  const end = pack([END, 4], [0, 2], [0, 2], [count, 2], [count, 2], [size, 4], [offset, 4], [0, 2]);
  return new Blob([...parts, ...directory, end], { type: "application/zip" });
}

/** Different names for files that may have the same one. */
export function distinguish(names) {
  const taken = new Set();
  return names.map((name) => {
    const [, stem, ending] = /^(.*?)(\.[^.]*)?$/.exec(name);
    let own = name;
    for (let n = 2; taken.has(own); n++) own = `${stem} (${n})${ending ?? ""}`;
    taken.add(own);
    return own;
  });
}
