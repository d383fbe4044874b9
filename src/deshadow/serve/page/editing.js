// The open photo: its mask, which found shadows are selected, which are removed, and the history of all that.
//
// Events: "mask" (the mask changed), "picture" (another result is shown), "history" (a step was done or undone).

import { gridFor } from "./distance.js";
import { History } from "./history.js";
import { Mask, shares } from "./mask.js";

const ALL = 0.99; // share of a shadow that counts as all of it: a resized mask may differ a little at the edge
const MOST_OF_IT = 0.5;

export class Editing extends EventTarget {
  constructor(photo, original) {
    super();
    this.photo = photo;
    this.original = original; // an ImageBitmap
    this.mask = new Mask(photo.width, photo.height);
    this.grid = gridFor(photo.width, photo.height);
    this.labels = null; // one byte for each pixel: the number of a found shadow
    this.instances = [];
    this.selected = new Set();
    this.removed = new Set();
    this.leaving = new Set(); // the shadows that are being removed now
    this.result = null; // { job, blob, run }
    this.empty = true;
    this.history = new History(this.snapshot("Photo"));
  }

  snapshot(label) {
    const { selected, removed, result } = this;
    return { label, runs: this.mask.runs(), labels: this.labels, selected: [...selected], removed: [...removed], result };
  }

  tell(...names) {
    for (const name of names) this.dispatchEvent(new Event(name));
  }

  /** Add a change of the mask to the history. */
  commit(label) {
    this.empty = this.mask.empty;
    this.history.push(this.snapshot(label));
    this.tell("mask", "history");
  }

  /** After painting: a found shadow is selected once all of it is in the mask, and stays so until none of it is. */
  painted(label) {
    if (this.labels) {
      const share = shares(this.labels, this.mask.data);
      const selected = ({ number }) => share[number] > (this.selected.has(number) ? 0 : ALL);
      this.selected = new Set(this.present.filter(selected).map(({ number }) => number));
    }
    this.commit(label);
  }

  setShadows(instances, labels) {
    this.instances = instances;
    this.labels = labels;
    this.recount();
    this.tell("mask");
  }

  /** Tell anew which shadows are selected and removed, by the mask and by those of the removals so far. */
  recount() {
    const within = (mask, most) => {
      const share = this.labels ? shares(this.labels, mask.data) : [];
      return this.instances.map(({ number }) => number).filter((number) => share[number] > most);
    };
    this.removed = new Set();
    for (let { result } = this; result; result = result.run.base) {
      const mask = new Mask(this.photo.width, this.photo.height);
      mask.restore(result.run.runs);
      for (const number of within(mask, MOST_OF_IT)) this.removed.add(number);
    }
    this.selected = new Set(within(this.mask, ALL).filter((number) => !this.removed.has(number)));
  }

  /** The number of the found shadow at a point, or 0 if there is none or it is removed. */
  shadowAt({ x, y }) {
    if (!this.labels || x < 0 || y < 0 || x >= this.photo.width || y >= this.photo.height) return 0;
    const number = this.labels[Math.floor(y) * this.photo.width + Math.floor(x)];
    return this.removed.has(number) || this.leaving.has(number) ? 0 : number;
  }

  /** The found shadows that are neither removed nor being removed. */
  get present() {
    return this.instances.filter(({ number }) => !this.removed.has(number) && !this.leaving.has(number));
  }

  /** Those of them that are surely shadows. */
  get sure() {
    return this.present.filter(({ sure }) => sure);
  }

  /** Select a shadow, or deselect it; returns whether it is selected now. */
  toggle(number) {
    const selecting = !this.selected.has(number);
    this.mask.setLabels(this.labels, [number], selecting ? 1 : 0);
    this.selected[selecting ? "add" : "delete"](number);
    this.commit(`Shadow ${number} ${selecting ? "selected" : "deselected"}`);
    return selecting;
  }

  select(shadows, label) {
    const numbers = shadows.map(({ number }) => number);
    this.mask.setLabels(this.labels, numbers, 1);
    this.selected = new Set(numbers);
    this.commit(label);
  }

  selectAll() {
    this.select(this.present, "All shadows selected");
  }

  clear() {
    this.mask.clear();
    this.selected.clear();
    this.commit("Mask cleared");
  }

  /** Replace the mask by another one, given as runs. */
  replace(runs, label) {
    this.mask.restore(runs);
    this.painted(label);
  }

  /** Take the mask for a removal: it is empty again, and what it selected is being removed. */
  take() {
    const taken = { runs: this.mask.runs(), numbers: [...this.selected], after: this.history.current };
    for (const number of taken.numbers) this.leaving.add(number);
    this.selected.clear();
    this.mask.clear();
    this.empty = true;
    this.tell("mask");
    return taken;
  }

  /** Put the mask of a removal that did not happen back. */
  giveBack(taken) {
    if (!taken) return;
    for (const number of taken.numbers) this.leaving.delete(number);
    const mask = new Mask(this.photo.width, this.photo.height);
    mask.restore(taken.runs);
    this.mask.add(mask);
    for (const number of taken.numbers) this.selected.add(number);
    this.empty = this.mask.empty;
    if (this.history.current === taken.after) this.tell("mask");
    else this.commit("Removal stopped");
  }

  /** After a removal: the shadows that its mask covered are removed. */
  finish(result, label) {
    const mask = new Mask(this.photo.width, this.photo.height);
    mask.restore(result.run.runs);
    const share = this.labels ? shares(this.labels, mask.data) : [];
    const gone = this.instances.map(({ number }) => number).filter((number) => share[number] > MOST_OF_IT);
    for (const number of result.run.taken?.numbers ?? []) this.leaving.delete(number);
    this.removed = new Set([...this.removed, ...gone]);
    for (const number of gone) this.selected.delete(number);
    this.result = result;
    this.history.push(this.snapshot(label));
    this.tell("mask", "picture", "history");
  }

  travel(direction) {
    const { history } = this;
    if (direction === "undo" ? !history.canUndo : !history.canRedo) return null;
    const before = this.result;
    const label = history[direction]();
    const { runs, labels, selected, removed, result } = history.current;
    this.mask.restore(runs);
    this.selected = new Set(selected);
    this.removed = new Set(removed);
    this.result = result;
    if (labels !== this.labels) this.recount(); // the numbers are those of an earlier search
    this.empty = this.mask.empty;
    this.tell("mask", "history");
    if (result !== before) this.tell("picture");
    return label;
  }
}
