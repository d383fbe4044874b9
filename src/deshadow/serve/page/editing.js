// The photo under work: its mask, which found shadows are taken, what has been removed, and the way back.
//
// Events: "mask" (the mask changed), "picture" (another result is shown), "history" (a step was made or undone).

import { gridFor } from "./distance.js";
import { History } from "./history.js";
import { Mask, shares } from "./mask.js";

const ALL = 0.99; // share of a shadow: the edge of a mask that was stretched may be a little off
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
    this.taken = new Set();
    this.gone = new Set();
    this.result = null; // { job, blob, run }
    this.empty = true;
    this.history = new History(this.snapshot("Photo"));
  }

  snapshot(label) {
    const { taken, gone, result } = this;
    return { label, runs: this.mask.runs(), taken: [...taken], gone: [...gone], result };
  }

  tell(...names) {
    for (const name of names) this.dispatchEvent(new Event(name));
  }

  /** The mask was changed: note it as a step. */
  commit(label) {
    this.empty = this.mask.empty;
    this.history.push(this.snapshot(label));
    this.tell("mask", "history");
  }

  /** The mask was painted: a found shadow is taken when all of it is in there, and until nothing of it is. */
  painted(label) {
    if (this.labels) {
      const share = shares(this.labels, this.mask.data);
      const taken = ({ number }) => share[number] > (this.taken.has(number) ? 0 : ALL);
      this.taken = new Set(this.present.filter(taken).map(({ number }) => number));
    }
    this.commit(label);
  }

  setShadows(instances, labels) {
    this.instances = instances;
    this.labels = labels;
    this.tell("mask");
  }

  /** The number of the found shadow at a point that is still there, or 0. */
  shadowAt({ x, y }) {
    if (!this.labels || x < 0 || y < 0 || x >= this.photo.width || y >= this.photo.height) return 0;
    const number = this.labels[Math.floor(y) * this.photo.width + Math.floor(x)];
    return this.gone.has(number) ? 0 : number;
  }

  get present() {
    return this.instances.filter(({ number }) => !this.gone.has(number));
  }

  take(number) {
    const taking = !this.taken.has(number);
    this.mask.setLabels(this.labels, [number], taking ? 1 : 0);
    this.taken[taking ? "add" : "delete"](number);
    this.commit(taking ? `Shadow ${number} taken` : `Shadow ${number} left`);
    return taking;
  }

  takeAll() {
    const numbers = this.present.map(({ number }) => number);
    this.mask.setLabels(this.labels, numbers, 1);
    this.taken = new Set(numbers);
    this.commit("All shadows taken");
  }

  clear() {
    this.mask.clear();
    this.taken.clear();
    this.commit("Mask cleared");
  }

  /** Replace the mask by runs, such as those of the last removal. */
  replace(runs, label) {
    this.mask.restore(runs);
    this.painted(label);
  }

  /** A removal is done: the shadows that its mask covered are gone, the mask is empty again. */
  finish(result, mask, label) {
    const share = this.labels ? shares(this.labels, mask.data) : [];
    const gone = this.present.filter(({ number }) => share[number] > MOST_OF_IT).map(({ number }) => number);
    this.gone = new Set([...this.gone, ...gone]);
    this.taken.clear();
    this.mask.clear();
    this.result = result;
    this.empty = true;
    this.history.push(this.snapshot(label));
    this.tell("mask", "picture", "history");
  }

  travel(direction) {
    const { history } = this;
    if (direction === "undo" ? !history.canUndo : !history.canRedo) return null;
    const before = this.result;
    const label = history[direction]();
    const { runs, taken, gone, result } = history.current;
    this.mask.restore(runs);
    this.taken = new Set(taken);
    this.gone = new Set(gone);
    this.result = result;
    this.empty = this.mask.empty;
    this.tell("mask", "history");
    if (result !== before) this.tell("picture");
    return label;
  }
}
