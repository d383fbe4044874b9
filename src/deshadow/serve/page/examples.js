// The example photos: surfaces with shadows, drawn by this script. Nothing is downloaded.

import { branch, handWithPhone, person, random } from "./silhouettes.js";

const WIDTH = 1500;
const HEIGHT = 1000;
const SUN = [0.72, 0.68, 0.62];
const SKY = [0.27, 0.278, 0.295];

const toLinear = Float32Array.from({ length: 256 }, (_, v) =>
  v <= 10 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4,
);
const encode = (v) => 255 * (v <= 0.0031308 ? 12.92 * v : 1.055 * Math.min(v, 1) ** (1 / 2.4) - 0.055);

function canvasOf(width, height) {
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  return canvas;
}

/** Smooth noise of about unit deviation: `across` lumps over the width, then finer ones. */
function noise(seed, width, height, across, octaves, stretch = 1) {
  const total = new Float32Array(width * height);
  let power = 0;
  for (let octave = 0; octave < octaves; octave++) {
    const columns = Math.ceil((across * 2 ** octave) / stretch) + 2;
    const rows = Math.ceil((across * 2 ** octave * height) / width) + 2;
    const next = random(seed * 977 + octave);
    const lattice = Float32Array.from({ length: columns * rows }, () => (next() + next() + next() - 1.5) * 2);
    const weight = 0.62 ** octave;
    power += 0.4 * weight * weight;
    for (let y = 0, i = 0; y < height; y++) {
      const v = (y / height) * (rows - 2);
      const row = Math.floor(v);
      let q = v - row;
      q *= q * (3 - 2 * q);
      for (let x = 0; x < width; x++, i++) {
        const u = (x / width) * (columns - 2);
        const column = Math.floor(u);
        let p = u - column;
        p *= p * (3 - 2 * p);
        const k = row * columns + column;
        const a = lattice[k] + (lattice[k + 1] - lattice[k]) * p;
        const b = lattice[k + columns] + (lattice[k + columns + 1] - lattice[k + columns]) * p;
        total[i] += weight * (a + (b - a) * q);
      }
    }
  }
  const scale = 1 / Math.sqrt(power);
  for (let i = 0; i < total.length; i++) total[i] *= scale;
  return total;
}

/** Three running means, each way: close to a Gaussian of this deviation. */
function blur(field, width, height, deviation) {
  const radius = Math.round(deviation);
  if (radius < 1) return field;
  const line = new Float32Array(Math.max(width, height));
  const pass = (start, step, count) => {
    let sum = 0;
    for (let i = -radius; i <= radius; i++) sum += field[start + step * Math.min(count - 1, Math.max(0, i))];
    for (let i = 0; i < count; i++) {
      line[i] = sum / (2 * radius + 1);
      const leaves = field[start + step * Math.max(0, i - radius)];
      sum += field[start + step * Math.min(count - 1, i + radius + 1)] - leaves;
    }
    for (let i = 0; i < count; i++) field[start + step * i] = line[i];
  };
  for (let turn = 0; turn < 3; turn++) {
    for (let y = 0; y < height; y++) pass(y * width, 1, width);
    for (let x = 0; x < width; x++) pass(x, width, height);
  }
  return field;
}

/** How much of the sun each pixel sees, with silhouettes drawn by each of `casters` as [draw, softness]. */
function sunlight(width, height, casters) {
  const visible = new Float32Array(width * height).fill(1);
  for (const [draw, softness] of casters) {
    const canvas = canvasOf(width, height);
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.scale(height, height);
    context.fillStyle = context.strokeStyle = "#fff";
    draw(context);
    const { data } = context.getImageData(0, 0, width, height);
    const blocked = blur(Float32Array.from({ length: width * height }, (_, i) => data[4 * i + 3] / 255), width, height, softness * height);
    for (let i = 0; i < visible.length; i++) visible[i] *= 1 - blocked[i];
  }
  return visible;
}

function plaster(context, width, height) {
  context.fillStyle = "rgb(214 198 170)";
  context.fillRect(0, 0, 1.5, 1);
  const bumps = noise(5, width, height, 60, 3);
  const broad = noise(6, width, height, 4, 4);
  const trowel = noise(8, width, height, 30, 3, 6);
  return (i, x) => 1 + 0.035 * (bumps[i] - bumps[x > 1 ? i - 2 : i]) + 0.014 * bumps[i] + 0.035 * broad[i] + 0.012 * trowel[i];
}

function paving(context, width, height) {
  const next = random(11);
  context.fillStyle = "rgb(112 103 90)";
  context.fillRect(0, 0, 1.5, 1);
  context.save();
  context.translate(0.75, 0.5);
  context.rotate(-0.13);
  context.translate(-0.95, -0.8);
  for (let row = 0; row < 7; row++) {
    for (let column = -1; column < 6; column++) {
      const shade = 152 + 26 * next();
      const warm = 4 + 12 * next();
      context.fillStyle = `rgb(${shade + warm} ${shade} ${shade - 1.5 * warm})`;
      context.beginPath();
      const [x, y] = [column * 0.37 + (row % 2) * 0.19, row * 0.235];
      context.roundRect(x + 0.005, y + 0.005, 0.36, 0.225, 0.012);
      context.fill();
    }
  }
  context.restore();
  const grit = noise(21, width, height, 420, 2);
  const stains = noise(22, width, height, 7, 5);
  return (i) => 1 + 0.055 * grit[i] + 0.06 * stains[i];
}

function desk(context, width, height) {
  const next = random(31);
  context.fillStyle = "rgb(150 116 84)";
  context.fillRect(0, 0, 1.5, 1);
  for (let board = 0; board < 4; board++) {
    const shade = 0.92 + 0.2 * next();
    context.fillStyle = `rgb(${172 * shade} ${134 * shade} ${98 * shade})`;
    context.fillRect(0, board * 0.27 - 0.02, 1.5, 0.266);
  }
  context.save();
  context.translate(0.36, 0.09);
  context.rotate(0.055);
  context.fillStyle = "rgb(112 84 60)";
  context.fillRect(0.004, 0.006, 0.74, 1.05);
  context.fillStyle = "rgb(236 231 220)";
  context.fillRect(0, 0, 0.74, 1.05);
  context.strokeStyle = "rgb(58 64 96)";
  context.lineCap = "round";
  for (let line = 0; line < 17; line++) {
    const y = 0.1 + line * 0.05;
    const end = line % 6 === 5 ? 0.3 : 0.6 + 0.07 * next();
    for (let x = 0.07; x < end; x += 0.02) {
      // A handwritten word: a line that goes up and down.
      const length = 0.025 + 0.06 * next();
      context.lineWidth = 0.0022 + 0.0008 * next();
      context.beginPath();
      context.moveTo(x, y);
      for (let t = 0.006; t < length && x + t < end + 0.02; t += 0.006) {
        const rise = (next() < 0.2 ? 0.021 : 0.009) * (0.6 + 0.5 * next());
        context.quadraticCurveTo(x + t - 0.004, y - rise, x + t, y - 0.001 * next());
      }
      context.stroke();
      x += length;
    }
  }
  context.restore();
  const fibre = noise(41, width, height, 300, 2);
  const grain = noise(42, width, height, 120, 3, 14);
  const broad = noise(43, width, height, 5, 3);
  // Wood has a grain, paper hardly any.
  return (i, _x, light) => (light > 0.6 ? 1 + 0.012 * fibre[i] + 0.01 * broad[i] : 1 + 0.05 * grain[i] + 0.02 * fibre[i] + 0.03 * broad[i]);
}

function standing(x, y, lean, height, ...pose) {
  return (context) => {
    context.translate(x, y);
    context.transform(1, 0, lean, 1, 0, 0);
    person(context, height, ...pose);
  };
}

export const EXAMPLES = [
  {
    name: "wall",
    title: "Leaves on a wall",
    surface: plaster,
    casters: [
      [(context) => branch(context, random(3), 1.58, 0.14, 2.75, 0.95, 0.05, 1, 2.8), 0.005],
      [(context) => branch(context, random(9), -0.08, 0.98, -0.42, 0.42, 0.045, 0, 2.8), 0.004],
    ],
  },
  {
    name: "paving",
    title: "People on a pavement",
    surface: paving,
    casters: [
      [standing(0.4, 1.02, -0.42, 0.78, 0.075, 0.015), 0.0035],
      [standing(1.06, 0.9, -0.42, 0.66, 0.1, 0.02), 0.0028],
    ],
  },
  {
    name: "letter",
    title: "A phone over a letter",
    surface: desk,
    casters: [
      [
        (context) => {
          context.translate(0.76, 0.58);
          context.rotate(-0.14);
          handWithPhone(context, 0.54);
        },
        0.006,
      ],
    ],
  },
];

/** Draw an example on a canvas, at a share of its full size. */
export function draw({ surface, casters }, share = 1) {
  const width = Math.round(WIDTH * share);
  const height = Math.round(HEIGHT * share);
  const canvas = canvasOf(width, height);
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.scale(height, height);
  const texture = surface(context, width, height);
  const visible = sunlight(width, height, casters);
  const image = context.getImageData(0, 0, width, height);
  const { data } = image;
  const next = random(77);
  for (let y = 0, i = 0; y < height; y++) {
    for (let x = 0; x < width; x++, i++) {
      const k = 4 * i;
      const grain = texture(i, x, toLinear[data[k]]);
      // Light falls off towards the corners, as behind any lens.
      const fall = 1.06 - 0.24 * (((x / width - 0.42) * 1.3) ** 2 + (y / height - 0.45) ** 2);
      const speck = (next() - 0.5) * 0.012;
      for (let c = 0; c < 3; c++) {
        const light = SUN[c] * visible[i] + SKY[c];
        data[k + c] = encode(Math.max(0, toLinear[data[k + c]] * grain * grain * fall * light * 1.08 * (1 + speck)));
      }
    }
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

/** An example as a PNG file. */
export async function asFile(example) {
  const blob = await new Promise((resolve) => draw(example).toBlob(resolve, "image/png"));
  return new File([blob], `${example.name}.png`, { type: "image/png" });
}
