// What a person does with a photo: open it, select shadows, remove them, compare, download.
//
// Events: "state" (empty, opening, ready or working), "photo" (another one), "found" (the search for shadows began
// or ended), "change" (anything else that buttons depend on), "nothing" (no shadow is selected), "progress".

import * as api from "./api.js";
import { Editing } from "./editing.js";
import { Mask } from "./mask.js";
import { save } from "./opening.js";
import { decodeGrey, encodeMask } from "./png.js";
import { Work } from "./work.js";

const MODES = { quick: "Quick", removal: "Remove" };

export class Session extends EventTarget {
  constructor({ stage, controls, notes, compare }) {
    super();
    Object.assign(this, { stage, controls, notes, compare });
    this.state = "empty";
    this.work = new Work();
    this.editing = null;
    this.detecting = null;
    this.turn = null; // identifies the running removal; the end of an older one is ignored
    this.last = null; // runs of the mask of the last removal, in any photo
    this.saved = true;
    this.maxUpload = Infinity; // bytes of the largest file that the server accepts
    this.progress = { words: "", left: "", share: 0 };
  }

  tell(name) {
    this.dispatchEvent(new Event(name));
  }

  enter(state) {
    this.state = state;
    this.tell("state");
  }

  /** Show an error, with a button for what may help. */
  trouble(error, again) {
    if (error.name === "AbortError") return;
    let action = null;
    if (error.code === "gone") {
      action = again && ["Try again", again];
      this.watch();
    } else if (error.code === "not_found" && this.file) {
      action = ["Send the photo again", () => this.openAgain()];
    }
    this.notes.show(error.message, { kind: "trouble", action });
    if (!(error instanceof api.ApiError)) throw error;
  }

  /** The photo has expired on the server: upload it again. The mask is kept as the one of the last removal. */
  openAgain() {
    if (!this.editing.empty) this.last = this.editing.mask.runs();
    return this.open(this.file);
  }

  /** Wait until the server answers again, and say so. */
  async watch() {
    if (this.watching) return;
    this.watching = true;
    while (!(await api.alive())) await new Promise((resolve) => setTimeout(resolve, 2000));
    this.watching = false;
    if (this.notes.element.dataset.kind === "trouble") this.notes.show("The server is running again.");
  }

  async open(file) {
    if (file.size > this.maxUpload) {
      const [size, most] = [file.size, this.maxUpload].map((bytes) => `${Math.ceil(bytes / 2 ** 20)} MiB`);
      return this.notes.show(`This file has ${size}; the server accepts at most ${most}.`, { kind: "trouble" });
    }
    this.opening?.abort();
    const { signal } = (this.opening = new AbortController());
    const before = this.editing;
    this.turn = null;
    this.work.cancel();
    this.compare.set(false);
    this.notes.hide();
    this.enter("opening");
    this.stage.close();
    // Formats that the browser can read are shown at once; the others when the server has converted them.
    createImageBitmap(file).then(
      (bitmap) => {
        if (signal.aborted || this.state !== "opening") return;
        const { width, height } = bitmap;
        this.stage.show(new Editing({ width, height, scale: 1 }, bitmap), bitmap);
      },
      () => null,
    );
    const full = (wait) => this.notes.show(`The queue is full. Trying again in ${wait} s.`);
    try {
      const photo = await api.upload(file, file.name || "photo", signal, full);
      const bitmap = await createImageBitmap(await api.picture(photo.picture, signal));
      if (before) api.deletePhoto(before.photo);
      this.file = file;
      this.begin(new Editing(photo, bitmap));
      this.detecting = this.detect(signal);
    } catch (error) {
      if (signal.aborted) return;
      // Show the photo that was open before.
      if (before) {
        this.stage.show(before, before.original);
        this.show();
        if (this.finding) this.detecting = this.detect((this.opening = new AbortController()).signal);
      }
      this.enter(before ? "ready" : "empty");
      this.trouble(error, () => this.open(file));
    }
  }

  begin(editing) {
    this.editing = editing;
    this.saved = true;
    editing.addEventListener("mask", () => {
      this.stage.maskChanged();
      this.tell("change");
    });
    editing.addEventListener("history", () => this.tell("change"));
    editing.addEventListener("picture", () => this.show());
    this.stage.show(editing, editing.original);
    this.enter("ready");
    this.tell("photo");
  }

  async detect(signal) {
    const { editing } = this;
    const full = (wait) => this.notes.show(`The queue is full. Looking again in ${wait} s.`);
    this.finding = true;
    this.unknown = false;
    this.tell("found");
    try {
      const { instances, labels } = await api.shadows(editing.photo, signal, full);
      const found = instances.length ? await decodeGrey(await api.picture(labels, signal)) : null;
      if (editing === this.editing) editing.setShadows(instances, found?.data ?? null);
    } catch (error) {
      if (signal.aborted) return;
      this.unknown = true;
      this.trouble(error, () => (this.detecting = this.detect(signal)));
    } finally {
      if (!signal.aborted) {
        this.finding = false;
        this.tell("found");
      }
    }
  }

  /** Show the picture of the current step of the history. */
  async show() {
    const { editing, stage } = this;
    const { result } = editing;
    const bitmap = result ? await createImageBitmap(result.blob) : editing.original;
    if (editing !== this.editing || editing.result !== result) return;
    stage.shown = bitmap;
    if (!result) this.compare.set(false);
    stage.redraw();
    this.tell("change");
  }

  /** Remove what is selected; all found shadows if nothing is. */
  async remove(mode) {
    if (this.state !== "ready") return;
    const { editing } = this;
    if (editing.empty && this.finding) {
      this.notes.show("Still looking for shadows. The removal starts when they are found.");
      await this.detecting;
      if (editing !== this.editing || this.state !== "ready") return;
    }
    if (editing.empty && editing.present.length) editing.selectAll();
    if (editing.empty) return this.tell("nothing");
    const base = editing.result?.job.id ?? null;
    await this.execute({ mode, base, runs: editing.mask.runs() });
  }

  /** Repeat the last removal with the next seed and the current values of the sliders. */
  async variant() {
    const run = this.editing?.result?.run;
    if (this.state !== "ready" || !run) return;
    this.controls.set("seed", this.controls.get("seed") + 1);
    await this.execute(run);
  }

  async execute(run) {
    const { editing } = this;
    const turn = (this.turn = {});
    this.notes.hide();
    this.compare.set(false);
    this.last = run.runs;
    this.report({ words: "Starting", left: "", share: 0 });
    this.enter("working");
    const kept = this.stage.shown;
    try {
      const mask = new Mask(editing.photo.width, editing.photo.height);
      mask.restore(run.runs);
      const options = { mode: run.mode, ...this.controls.values };
      const png = encodeMask(mask.data, mask.width, mask.height);
      const done = await this.work.run(editing.photo, { options, mask: png, base: run.base }, {
        report: (progress) => this.turn === turn && this.report(progress),
        preview: (bitmap) => {
          this.stage.shown = bitmap;
          this.stage.redraw();
        },
      });
      if (this.turn !== turn) return;
      if (!done) {
        this.notes.show("Cancelled. Nothing was changed.");
      } else if (!done.blob) {
        this.notes.show("No shadow was found there.", { action: ["Use the brush", () => this.tell("nothing")] });
      } else {
        const bitmap = await createImageBitmap(done.blob);
        if (this.turn !== turn) return;
        this.stage.shown = bitmap;
        this.saved = false;
        editing.finish({ ...done, run }, mask, MODES[run.mode]);
        this.compare.move(0.5);
        this.compare.set(true);
        this.notes.say("Done. Before and after are side by side.");
        return;
      }
    } catch (error) {
      if (this.turn === turn) this.trouble(error, () => this.execute(run));
    } finally {
      if (this.turn === turn) {
        if (!this.compare.on) this.stage.shown = kept;
        this.stage.redraw();
        this.enter("ready");
      }
    }
  }

  /** Cancel the running removal, which ends after its current step. */
  cancel() {
    this.report({ ...this.progress, words: "Cancelling", left: "" });
    this.work.cancel();
  }

  report(progress) {
    this.progress = progress;
    this.tell("progress");
  }

  travel(direction) {
    if (this.state !== "ready") return;
    const label = this.editing.travel(direction);
    if (label) this.notes.say(`${direction === "undo" ? "Undone" : "Redone"}: ${label}`);
  }

  async download() {
    const job = this.editing?.result?.job;
    if (!job) return;
    try {
      const { file, name } = await api.result(job);
      save(file, name ?? this.editing.photo.name);
      this.saved = true;
    } catch (error) {
      this.trouble(error, () => this.download());
    }
  }

  async importMask(file) {
    const { editing } = this;
    let found;
    try {
      found = await decodeGrey(file, (r, g, b, a) => (Math.max(r, g, b) * a > 127 * 255 ? 1 : 0));
    } catch {
      return this.notes.show("The browser cannot read this mask: use a PNG.", { kind: "trouble" });
    }
    const { width, height } = editing.photo;
    // As in removal/masks.py: at the smaller of both sizes one side may differ by two pixels.
    const [small, large] = [found, { width, height }].sort((a, b) => a.width * a.height - b.width * b.height);
    const missed = [
      small.height - (small.width * large.height) / large.width,
      small.width - (small.height * large.width) / large.height,
    ];
    if (Math.min(...missed.map(Math.abs)) > 2) {
      const sizes = `the mask is ${found.width} × ${found.height}, the photo ${width} × ${height}`;
      return this.notes.show(`The mask has another shape than the photo: ${sizes}.`, { kind: "trouble" });
    }
    if (!found.data.includes(1)) return this.notes.show("This mask is all black: it marks no shadow.", { kind: "trouble" });
    editing.mask.stretch(found.data, found.width, found.height);
    editing.painted("Mask imported");
  }

  async exportMask() {
    const { mask, photo } = this.editing;
    save(await encodeMask(mask.data, mask.width, mask.height), `${photo.name.replace(/\.[^.]*$/, "")}.mask.png`);
  }

  useLast() {
    if (this.state === "ready" && this.last) this.editing.replace(this.last, "Last mask");
  }
}
