// The stage: one canvas with the photo, and one above it with outlines and the mask; redrawn after each change.

import { borderDistance, follow, maskDistance } from "./distance.js";
import { shares } from "./mask.js";
import { drawOverlay } from "./overlay.js";
import { Viewport } from "./viewport.js";

const MOST_PIXELS = 2_200_000;
const COVERED = 0.1; // a found shadow is protected if less than this share of it is in the mask, as on the server

export class Stage extends EventTarget {
  constructor(element) {
    super();
    this.element = element;
    this.view = new Viewport();
    this.picture = element.querySelector("canvas.picture");
    this.over = element.querySelector("canvas.over");
    this.editing = null;
    this.shown = null; // the picture that is drawn now: an ImageBitmap
    this.split = null; // where "before" ends, in CSS pixels of the stage; null: no comparison
    this.original = false; // whether the original is shown, while its button is held
    this.hover = 0;
    this.dilate = 0;
    this.feather = 0;
    this.shows = { found: true, tint: 1, mask: true };
    this.waiting = 0;
    this.stale = { picture: true, fields: true, borders: true };
    new ResizeObserver(() => this.measure()).observe(element);
    // A window on another screen may have another pixel density.
    matchMedia("(resolution: 1dppx)").addEventListener("change", () => this.measure());
    this.measure();
  }

  measure() {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (!width || !height) return;
    const ratio = window.devicePixelRatio || 1;
    this.density = Math.min(ratio, Math.sqrt(MOST_PIXELS / (width * height)));
    for (const [canvas, density] of [
      [this.picture, ratio],
      [this.over, this.density],
    ]) {
      canvas.width = Math.round(width * density);
      canvas.height = Math.round(height * density);
    }
    this.ratio = ratio;
    this.view.setStage(width, height, width < 700 || height < 400 ? 0 : 28);
    this.moved();
  }

  show(editing, bitmap) {
    this.editing = editing;
    this.shown = bitmap;
    this.hover = 0;
    this.view.setPhoto(editing.photo.width, editing.photo.height);
    this.maskChanged();
    this.moved();
  }

  close() {
    this.editing = this.shown = this.split = null;
    this.redraw();
  }

  maskChanged() {
    this.stale.fields = true;
    this.stale.borders = true;
    this.later();
  }

  /** Part of a stroke was painted (1) or erased (0); what is painted changes only the distances around it. */
  painted(from, to, radius, value) {
    const { stale, editing } = this;
    if (!value) {
      stale.fields = true; // the distances to what is left are computed again
    } else if (!stale.fields) {
      const reach = (this.dilate + this.feather) * editing.photo.scale + 4 * editing.grid.size + 4 / this.view.scale;
      follow(this.distance, editing.grid, from, to, radius, reach);
    }
    this.later();
  }

  moved() {
    this.dispatchEvent(new Event("move"));
    this.redraw();
  }

  /** Draw everything with the next frame. */
  redraw() {
    this.stale.picture = true;
    this.later();
  }

  /** Draw what lies over the photo with the next frame, and the photo itself only if it must be. */
  later() {
    this.waiting ||= requestAnimationFrame(() => {
      this.waiting = 0;
      this.draw();
    });
  }

  draw() {
    const { picture, over, editing } = this;
    if (this.stale.picture) {
      const below = picture.getContext("2d");
      below.setTransform(1, 0, 0, 1, 0, 0);
      below.clearRect(0, 0, picture.width, picture.height);
      if (editing) this.drawPicture(below);
      this.stale.picture = false;
    }
    const above = over.getContext("2d");
    if (editing) this.drawOver(above);
    else above.clearRect(0, 0, over.width, over.height);
  }

  drawPicture(context) {
    const { left, top, width, height } = this.view.rectangle;
    const { original } = this.editing;
    context.scale(this.ratio, this.ratio);
    // From two screen pixels for one of the photo on, show the pixels as squares.
    context.imageSmoothingEnabled = this.view.scale * this.ratio < 2;
    context.imageSmoothingQuality = "high";
    const whole = this.original ? original : this.shown;
    context.drawImage(whole, left, top, width, height);
    if (this.split === null || this.original) return;
    context.save();
    context.beginPath();
    context.rect(0, 0, this.split, this.view.stage.height);
    context.clip();
    context.drawImage(original, left, top, width, height);
    context.restore();
  }

  drawOver(context) {
    const { editing, over, shows } = this;
    if (this.original || (!shows.found && !shows.mask && !this.hover)) {
      return context.clearRect(0, 0, over.width, over.height);
    }
    this.refreshFields();
    if (this.image?.width !== over.width || this.image?.height !== over.height) {
      this.image = context.createImageData(over.width, over.height);
    }
    const scale = editing.photo.scale;
    drawOverlay(this.image, this.density, {
      view: this.view,
      grid: editing.grid,
      mask: editing.mask.data,
      edge: shows.mask ? this.distance.edge : null,
      kept: this.kept,
      border: shows.found ? this.border : null,
      hidden: this.hidden,
      unsure: this.unsure,
      cells: this.cells,
      labels: editing.labels,
      hover: editing.labels ? this.hover : 0,
      dilate: this.dilate * scale,
      feather: this.feather * scale,
      tint: shows.tint,
    });
    context.putImageData(this.image, 0, 0);
  }

  refreshFields() {
    const { editing, stale } = this;
    const anew = stale.fields || stale.borders;
    if (stale.fields) this.distance = maskDistance(editing.grid, editing.mask.data);
    if (stale.borders) {
      const hidden = new Set([...editing.selected, ...editing.removed, ...editing.leaving]);
      const found = editing.labels && borderDistance(editing.grid, editing.labels, hidden);
      this.hidden = Uint8Array.from({ length: 256 }, (_, number) => (hidden.has(number) ? 1 : 0));
      this.unsure = new Uint8Array(256);
      for (const { number, sure } of editing.instances) this.unsure[number] = sure ? 0 : 1;
      this.border = found ? found.field : null;
      this.cells = found ? found.cells : null;
    }
    stale.fields = stale.borders = false;
    if (anew && this.cells) this.kept = findProtected(this.cells, this.distance.cells);
  }
}

/** For each number of a shadow: 1 if the mask covers too little of it, so that it is protected. */
const findProtected = (labels, mask) =>
  Uint8Array.from(shares(labels, mask), (share, number) => (number && share < COVERED ? 1 : 0));
