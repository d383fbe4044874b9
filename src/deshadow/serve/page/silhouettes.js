// Draws silhouettes of things that cast shadows. All lengths are shares of the picture's height.

/** A generator of pseudo-random numbers from 0 to 1 (mulberry32). */
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

function leaf(context, x, y, length, angle, slim = 0.36) {
  context.save();
  context.translate(x, y);
  context.rotate(angle);
  context.beginPath();
  context.moveTo(0, 0);
  context.bezierCurveTo(length * 0.25, -length * slim, length * 0.75, -length * slim * 0.8, length, 0);
  context.bezierCurveTo(length * 0.75, length * slim * 0.8, length * 0.25, length * slim, 0, 0);
  context.fill();
  context.restore();
}

/** A branch that bends, with leaves on both sides, `broad` times their usual size, and twigs of its own. */
export function branch(context, next, x, y, angle, length, thickness, depth = 1, broad = 1) {
  const steps = Math.max(4, Math.round((length * 20) / broad));
  context.lineCap = "round";
  for (let i = 0; i < steps; i++) {
    const along = i / steps;
    const step = length / steps;
    const x1 = x + Math.cos(angle) * step;
    const y1 = y + Math.sin(angle) * step;
    context.lineWidth = thickness * (1 - 0.6 * along);
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x1, y1);
    context.stroke();
    const side = i % 2 ? 1 : -1;
    const size = broad * (0.055 + 0.04 * next());
    leaf(context, x1, y1, size, angle + side * (0.5 + 0.5 * next()), 0.26 + 0.1 * next());
    if (depth > 0 && i % 3 === 2) {
      const turn = side * (0.55 + 0.35 * next());
      branch(context, next, x1, y1, angle + turn, length * (1 - 0.7 * along) * 0.55, thickness * 0.55, depth - 1, broad);
    }
    angle += (next() - 0.47) * 0.2;
    x = x1;
    y = y1;
  }
  leaf(context, x, y, broad * 0.08, angle, 0.3);
}

function rounded(context, points, thickness) {
  context.lineWidth = thickness;
  context.lineCap = context.lineJoin = "round";
  context.beginPath();
  points.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.stroke();
}

/** A standing person with the feet at (0, 0); `stride` is the distance between the legs. */
export function person(context, height, stride = 0.1, arm = 0.2) {
  const h = height;
  rounded(context, [[-stride * h, 0], [-0.04 * h, -0.46 * h]], 0.11 * h);
  rounded(context, [[stride * h, 0], [0.04 * h, -0.46 * h]], 0.11 * h);
  context.beginPath();
  context.moveTo(-0.095 * h, -0.42 * h);
  context.bezierCurveTo(-0.1 * h, -0.6 * h, -0.14 * h, -0.76 * h, -0.12 * h, -0.8 * h);
  context.bezierCurveTo(-0.06 * h, -0.85 * h, 0.06 * h, -0.85 * h, 0.12 * h, -0.8 * h);
  context.bezierCurveTo(0.14 * h, -0.76 * h, 0.1 * h, -0.6 * h, 0.095 * h, -0.42 * h);
  context.fill();
  rounded(context, [[-0.1 * h, -0.78 * h], [-0.115 * h, -0.62 * h], [-0.1 * h, -0.46 * h]], 0.075 * h);
  rounded(context, [[0.1 * h, -0.78 * h], [(0.1 + arm) * h, -0.64 * h], [(0.06 + arm) * h, -0.48 * h]], 0.075 * h);
  rounded(context, [[0, -0.84 * h], [0, -0.88 * h]], 0.075 * h);
  context.beginPath();
  context.ellipse(0, -0.93 * h, 0.066 * h, 0.078 * h, 0, 0, 7);
  context.fill();
}

/** A hand that holds a phone, seen from above: the wrist comes from below. */
export function handWithPhone(context, size) {
  const s = size;
  context.beginPath();
  context.roundRect(-0.17 * s, -0.62 * s, 0.34 * s, 0.68 * s, 0.05 * s);
  context.fill();
  for (let i = 0; i < 4; i++) {
    const y = -0.34 * s + i * 0.1 * s;
    rounded(context, [[0.1 * s, y + 0.1 * s], [-0.17 * s, y + 0.02 * s], [-0.21 * s, y + 0.015 * s]], 0.095 * s);
  }
  context.beginPath();
  context.moveTo(-0.14 * s, 0.02 * s);
  context.bezierCurveTo(-0.2 * s, 0.3 * s, -0.06 * s, 0.4 * s, 0.0, 1.6 * s);
  context.lineTo(0.42 * s, 1.6 * s);
  context.bezierCurveTo(0.36 * s, 0.5 * s, 0.36 * s, 0.1 * s, 0.27 * s, -0.1 * s);
  context.bezierCurveTo(0.26 * s, -0.24 * s, 0.2 * s, -0.3 * s, 0.16 * s, -0.12 * s);
  context.fill();
  rounded(context, [[0.22 * s, -0.02 * s], [0.19 * s, -0.26 * s], [0.14 * s, -0.36 * s]], 0.14 * s);
}
