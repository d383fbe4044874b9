// The position of the photo on the stage: its scale (CSS pixels for each pixel of the photo) and its corner.

const CLOSEST = 40;

export class Viewport {
  constructor() {
    this.photo = { width: 1, height: 1 };
    this.stage = { width: 1, height: 1 };
    this.margin = { x: 0, y: 0 };
    this.fitted = true;
    this.fit();
  }

  get fitScale() {
    const { photo, stage, margin } = this;
    const across = (stage.width - 2 * margin.x) / photo.width;
    const down = (stage.height - 2 * margin.y) / photo.height;
    return Math.min(Math.max(Math.min(across, down), 1e-3), 8);
  }

  setPhoto(width, height) {
    this.photo = { width, height };
    this.fit();
  }

  setStage(width, height, margin) {
    const middle = this.toPhoto(this.stage.width / 2, this.stage.height / 2);
    this.stage = { width, height };
    this.margin = { x: margin, y: margin };
    if (this.fitted) return this.fit();
    this.x = width / 2 - middle.x * this.scale;
    this.y = height / 2 - middle.y * this.scale;
    this.settle();
  }

  fit() {
    this.fitted = true;
    this.scale = this.fitScale;
    this.x = (this.stage.width - this.photo.width * this.scale) / 2;
    this.y = (this.stage.height - this.photo.height * this.scale) / 2;
  }

  /** Change the scale; the point of the photo under (x, y) of the stage stays there. */
  zoomTo(scale, x = this.stage.width / 2, y = this.stage.height / 2) {
    const point = this.toPhoto(x, y);
    const smallest = Math.min(this.fitScale, 1);
    this.scale = Math.min(CLOSEST, Math.max(smallest, scale));
    this.fitted = this.scale <= this.fitScale * 1.0001 && this.scale >= this.fitScale * 0.9999;
    this.x = x - point.x * this.scale;
    this.y = y - point.y * this.scale;
    this.settle();
  }

  panBy(dx, dy) {
    this.x += dx;
    this.y += dy;
    this.settle();
  }

  /** Centre a photo that is smaller than the stage; let a larger one cover it up to the margin. */
  settle() {
    const axis = (at, length, room, margin) =>
      length <= room - 2 * margin
        ? (room - length) / 2
        : Math.min(margin, Math.max(room - margin - length, at));
    this.x = axis(this.x, this.photo.width * this.scale, this.stage.width, this.margin.x);
    this.y = axis(this.y, this.photo.height * this.scale, this.stage.height, this.margin.y);
  }

  toPhoto(x, y) {
    return { x: (x - this.x) / this.scale, y: (y - this.y) / this.scale };
  }

  /** The photo's rectangle on the stage. */
  get rectangle() {
    const { x, y, scale, photo } = this;
    return { left: x, top: y, width: photo.width * scale, height: photo.height * scale };
  }
}
