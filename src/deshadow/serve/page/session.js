// The open photos and the one that is shown: opens and closes them, undoes, removes from all of them.
//
// Events: "photos" (one was added, closed or chosen), "state", "found", "change", "work", "picture" (of the chosen
// photo, as photo.js describes them), "other" (any of these of another photo), "nothing" (nothing to remove).

import { Editing } from "./editing.js";
import { OpenPhoto } from "./photo.js";

const FORWARDED = ["state", "found", "change", "work"];

export class Session extends EventTarget {
  constructor({ stage, controls, notes, compare, connection }) {
    super();
    Object.assign(this, { stage, controls, notes, compare, connection });
    this.photos = [];
    this.photo = null; // the one that is shown
    this.last = null; // runs of the mask of the last removal, in any photo
    this.opening = Promise.resolve();
    this.maxUpload = Infinity; // bytes of the largest file that the server accepts
    connection.addEventListener("lost", () =>
      notes.show("The server does not answer. Photos, masks and results are kept; the work goes on when it is back.", {
        kind: "trouble",
      }),
    );
    connection.addEventListener("found", () => notes.show("The server is running again."));
  }

  get editing() {
    return this.photo?.editing ?? null;
  }

  get state() {
    if (!this.photo) return "empty";
    return this.photo.state === "ready" ? "ready" : "opening";
  }

  tell(name) {
    this.dispatchEvent(new Event(name));
  }

  /** Open files one after another, and show the first of them. */
  open(files) {
    const fits = files.filter((file) => file.size <= this.maxUpload);
    const large = files.find((file) => !fits.includes(file));
    if (large) {
      const [size, most] = [large.size, this.maxUpload].map((bytes) => `${Math.ceil(bytes / 2 ** 20)} MiB`);
      this.notes.show(`${large.name} has ${size}; the server accepts at most ${most}.`, { kind: "trouble" });
    } else {
      this.notes.hide();
    }
    const added = fits.map((file) => this.listen(new OpenPhoto(file, this)));
    if (!added.length) return;
    this.photos.push(...added);
    this.choose(added[0]);
    for (const photo of added) {
      this.opening = this.opening.then(() => (this.photos.includes(photo) ? photo.open() : null));
    }
  }

  listen(photo) {
    const shown = () => photo === this.photo;
    for (const name of FORWARDED) {
      photo.addEventListener(name, () => {
        if (name === "change" && shown()) this.stage.maskChanged();
        this.tell(shown() ? name : "other");
      });
    }
    photo.addEventListener("early", ({ bitmap }) => {
      if (!shown()) return;
      const { width, height } = bitmap;
      this.stage.show(new Editing({ width, height, scale: 1 }, bitmap), bitmap);
    });
    photo.addEventListener("state", () => {
      if (photo.state === "ready" && shown()) this.choose(photo);
    });
    photo.addEventListener("picture", () => (shown() ? this.show() : this.tell("other")));
    photo.addEventListener("trouble", ({ error }) => this.trouble(photo, error));
    photo.addEventListener("full", ({ wait }) => this.notes.show(`The queue is full. Trying again in ${wait} s.`));
    photo.addEventListener("later", () =>
      this.notes.show("Still looking for shadows. The removal starts when they are found."),
    );
    photo.addEventListener("nothing", () => shown() && this.tell("nothing"));
    photo.addEventListener("unfound", () =>
      this.notes.show("No shadow was found there.", { action: ["Use the brush", () => this.tell("nothing")] }),
    );
    return photo;
  }

  /** Show an error of a photo; one that could not be opened is closed. */
  trouble(photo, error) {
    this.notes.show(error.message, {
      kind: "trouble",
      action: photo.unknown && photo.state === "ready" ? ["Try again", () => (photo.detecting = photo.detect())] : null,
    });
    if (photo.state === "failed") this.close(photo);
  }

  /** Show this photo. */
  async choose(photo) {
    const before = this.photo;
    this.photo = photo;
    this.compare.set(false);
    if (before !== photo) {
      this.stage.close();
      before?.editing?.original.close(); // it takes four bytes a pixel; the blob takes less
    }
    if (photo?.editing) {
      const { editing } = photo;
      if (before !== photo) editing.original = await createImageBitmap(photo.blob);
      if (this.photo !== photo) return;
      this.stage.show(editing, editing.original);
      this.show();
    } else {
      this.stage.close();
    }
    this.tell("photos");
    this.tell("state");
  }

  /** Close a photo, and show its neighbour if it was the one that is shown. */
  close(photo) {
    const at = this.photos.indexOf(photo);
    this.photos.splice(at, 1);
    photo.close();
    if (photo === this.photo) this.choose(this.photos[Math.min(at, this.photos.length - 1)] ?? null);
    else this.tell("photos");
  }

  /** Show the picture of the current step of the history, or the preview of the removal that runs. */
  async show() {
    const { photo, stage } = this;
    const { editing } = photo;
    const { result } = editing;
    const blob = photo.preview ?? result?.blob;
    const bitmap = blob ? await createImageBitmap(blob) : editing.original;
    if (photo !== this.photo || (photo.preview ?? editing.result?.blob) !== blob) return;
    stage.shown = bitmap;
    if (!blob) this.compare.set(false);
    stage.redraw();
    this.tell("picture");
  }

  /** Remove the selected shadows of the photo that is shown. */
  async remove() {
    const { photo } = this;
    if (this.state !== "ready") return;
    if (!photo.editing.empty) this.last = photo.editing.mask.runs();
    this.compare.set(false);
    const before = photo.editing.result;
    await photo.remove();
    this.finished(photo, before);
  }

  async refine() {
    const { photo } = this;
    if (this.state !== "ready" || !photo.canRefine) return;
    const before = photo.editing.result;
    this.compare.set(false);
    await photo.refine();
    this.finished(photo, before);
  }

  async repeat() {
    const { photo } = this;
    if (this.state !== "ready" || !photo.editing.result || photo.running) return;
    const before = photo.editing.result;
    this.compare.set(false);
    await photo.repeat();
    this.finished(photo, before);
  }

  /** Compare before and after, if the photo has a new result. */
  finished(photo, before) {
    const { result } = photo.editing;
    this.last = result?.run.runs ?? this.last;
    if (photo !== this.photo || !result || result === before || photo.running) return;
    this.compare.move(0.5);
    this.compare.set(true);
    this.notes.say("Done. Before and after are side by side.");
  }

  /** Remove the found shadows of every photo that has none removed yet. */
  async removeAll() {
    let [done, none] = [0, 0];
    for (const photo of [...this.photos]) {
      await this.opening;
      if (photo.state !== "ready" || photo.editing.result || photo.running) continue;
      await photo.detecting;
      if (!this.photos.includes(photo)) continue;
      if (!photo.editing.sure.length && photo.editing.empty) {
        none++;
        continue;
      }
      await photo.remove();
      if (photo.editing.result) done++;
      if (photo === this.photo) this.finished(photo, null);
    }
    const plural = (count) => `${count} photo${count === 1 ? "" : "s"}`;
    const rest = none ? ` No clear shadow was found in ${plural(none)}.` : "";
    this.notes.show(`Shadows removed from ${plural(done)}.${rest}`);
  }

  /** Find the shadows of all photos again, after another sensitivity was chosen. */
  findAgain() {
    for (const photo of this.photos) if (photo.state === "ready") photo.detectAgain();
  }

  /** Undo or redo a step. While a removal runs, undo stops it. */
  travel(direction) {
    const { photo } = this;
    if (this.state !== "ready") return;
    if (photo.running && direction === "undo") return this.stop();
    const label = this.editing.travel(direction);
    if (!label) return;
    this.compare.set(false); // it would hide the mask
    this.notes.show(`${direction === "undo" ? "Undone" : "Redone"}: ${label}`, { kind: "brief" });
  }

  /** Stop the removal that runs; a refinement leaves what it was started from. */
  stop() {
    const { photo } = this;
    if (!photo?.running) return;
    const refining = photo.refining;
    photo.stop();
    this.notes.show(refining ? "Refinement stopped. The quick result is kept." : "Stopped. Nothing was changed.");
  }

  /** End the refinement and keep what is done. */
  keep() {
    const { photo } = this;
    if (!photo?.refining) return this.stop();
    const { windows } = photo.running.work;
    photo.keep();
    this.notes.show(windows ? "Stopped. What is refined so far is kept." : "Refinement stopped. The quick result is kept.");
  }
}
