// One open photo: its file, its copy on the server, its editing, and the removals that run or wait.
//
// Events: "state" (waiting, opening, ready or failed), "early" (a first look at the file), "found" (the search for
// shadows began or ended), "change" (mask or history), "picture" (another picture to show), "work" (a removal began,
// went on or ended), "trouble" (an error, in `error`), "nothing" (there is nothing to remove), "full" (in `wait`).

import * as api from "./api.js";
import { Editing } from "./editing.js";
import { Mask } from "./mask.js";
import { decodeGrey, encodeMask } from "./png.js";
import { Work } from "./work.js";

const LABELS = { quick: "Removal", removal: "Refinement" };
const ATTEMPTS = 4; // how often a call is made that fails because the server has lost something

export class OpenPhoto extends EventTarget {
  constructor(file, { connection, controls }) {
    super();
    Object.assign(this, { file, connection, controls });
    this.name = file.name || "photo";
    this.state = "waiting";
    this.remote = null; // what the server says about the photo; null if the server does not have it
    this.blob = null; // the photo as the browser shows it
    this.editing = null;
    this.preview = null; // the latest picture of the running removal, a blob
    this.running = null; // { run, work, words, left, share }
    this.turn = Promise.resolve(); // the end of the last removal that was asked for
    this.saved = null; // the result that was downloaded last
    this.finding = false;
    this.unknown = false;
    this.abort = new AbortController();
  }

  tell(name, values = {}) {
    this.dispatchEvent(Object.assign(new Event(name), values));
  }

  /** Whether there is a result that was not downloaded. */
  get unsaved() {
    return Boolean(this.editing?.result) && this.editing.result !== this.saved;
  }

  get refining() {
    return this.running?.run.mode === "removal";
  }

  /** Upload the photo and show it; then find its shadows. */
  async open() {
    const { signal } = this.abort;
    this.enter("opening");
    // Formats that the browser can read are shown at once; the others when the server has converted them.
    createImageBitmap(this.file).then((bitmap) => this.state === "opening" && this.tell("early", { bitmap }), () => null);
    try {
      this.blob = await this.remotely((remote) => api.picture(remote.picture, signal));
      const bitmap = await createImageBitmap(this.blob);
      signal.throwIfAborted();
      this.name = this.remote.name;
      this.editing = new Editing(this.remote, bitmap);
    } catch (error) {
      this.enter("failed");
      return this.fail(error);
    }
    for (const name of ["mask", "history"]) this.editing.addEventListener(name, () => this.tell("change"));
    this.editing.addEventListener("picture", () => this.tell("picture"));
    this.enter("ready");
    this.detecting = this.detect();
  }

  enter(state) {
    this.state = state;
    this.tell("state");
  }

  fail(error) {
    if (error.name !== "AbortError") this.tell("trouble", { error });
  }

  /** Call the server with the photo: wait while it does not answer; send the photo again if it has lost it. */
  async remotely(call, signal = this.abort.signal) {
    const full = (wait) => this.tell("full", { wait });
    for (let left = ATTEMPTS; ; ) {
      try {
        this.remote ??= await api.upload(this.file, this.name, signal, full);
        return await call(this.remote);
      } catch (error) {
        signal.throwIfAborted();
        const gone = error.code === "gone" || error.code === "stopping";
        if (!gone && (!["lost", "not_found", "not_ready"].includes(error.code) || --left === 0)) throw error;
        if (error.code === "not_found" || error.code === "not_ready") this.remote = null;
        else await this.connection.wait(signal);
      }
    }
  }

  async detect() {
    const { signal } = this.abort;
    const { editing } = this;
    const full = (wait) => this.tell("full", { wait });
    const search = (this.search = {}); // of two searches the later one counts
    const { sensitivity = "normal" } = this.controls.values;
    this.finding = true;
    this.unknown = false;
    this.tell("found");
    try {
      await this.remotely(async (remote) => {
        const { instances, labels } = await api.shadows(remote, sensitivity, signal, full);
        const found = instances.length ? await decodeGrey(await api.picture(labels, signal)) : null;
        if (search === this.search) editing.setShadows(instances, found?.data ?? null);
      });
    } catch (error) {
      if (search !== this.search) return;
      this.unknown = true;
      this.fail(error);
    }
    if (search !== this.search) return;
    this.finding = false;
    this.tell("found");
  }

  /** Find the shadows again, with the sensitivity that is now chosen. */
  detectAgain() {
    this.detecting = this.turn.then(() => this.detect());
  }

  /** Remove what is selected, or all sure shadows if nothing is; the quick result follows in seconds. */
  async remove() {
    const { editing } = this;
    if (editing.empty && this.finding) {
      this.tell("later");
      await this.detecting;
    }
    if (editing.empty && editing.sure.length) editing.select(editing.sure, "Sure shadows selected");
    if (editing.empty) return this.tell("nothing");
    const taken = editing.take();
    this.keep(); // a refinement ends here, with what it has done
    return this.enqueue({ mode: "quick", options: this.controls.values, taken, runs: taken.runs });
  }

  get canRefine() {
    return this.editing?.result?.run.mode === "quick" && !this.running;
  }

  /** Refine the last quick result window by window. */
  refine() {
    if (!this.canRefine) return null;
    return this.enqueue({ ...this.editing.result.run, mode: "removal", taken: null });
  }

  /** Repeat the last removal with the current values of the sliders. */
  repeat() {
    const run = this.editing.result?.run;
    if (!run || this.running) return null;
    return this.enqueue({ ...run, options: this.controls.values, taken: null, windows: undefined });
  }

  enqueue(run) {
    this.turn = this.turn.then(() => this.perform(run));
    return this.turn;
  }

  /** Run one removal and put its result into the history. */
  async perform(run) {
    const { editing } = this;
    if (run.base === undefined) run.base = editing.result;
    const work = new Work({
      report: (progress) => {
        Object.assign(this.running ?? {}, progress);
        this.tell("work");
      },
      preview: (blob) => {
        this.preview = blob;
        this.tell("picture");
      },
    });
    this.running = { run, work, words: "Removing the shadow", left: "", share: 0 };
    this.tell("work");
    try {
      const done = await this.remotely((remote) => this.compute(run, work, remote), work.signal);
      if (!done.blob) this.tell("unfound");
      if (done.blob) editing.finish({ ...done, run: { ...run, windows: work.kept ? done.job.done : undefined } }, LABELS[run.mode]);
      else editing.giveBack(run.taken);
    } catch (error) {
      editing.giveBack(run.taken);
      this.fail(error);
    }
    this.preview = this.running = null;
    this.tell("picture");
    this.tell("work");
  }

  /** The job and the picture of a run. Results that it starts from are computed again if the server has lost them. */
  async compute(run, work, remote) {
    if (run.base && run.base.job.photo !== remote.id) {
      run.base.job = (await this.compute(run.base.run, work, remote)).job;
    }
    const { width, height } = this.editing.photo;
    const mask = new Mask(width, height);
    mask.restore(run.runs);
    const options = { ...run.options, mode: run.mode };
    const png = await encodeMask(mask.data, width, height);
    return work.run(remote, { options, mask: png, base: run.base?.job.id, windows: run.windows });
  }

  /** End the running removal and discard it. */
  stop() {
    this.running?.work.stop();
  }

  /** End the refinement that runs, and keep what it has done. */
  keep() {
    if (this.refining) this.running.work.keep();
  }

  /** The result as a file, and its name; `choice` is { format, quality }. */
  async fetchResult(choice) {
    const { result } = this.editing;
    const silent = new Work({ report: () => null, preview: () => null });
    return this.remotely(async (remote) => {
      if (result.job.photo !== remote.id) result.job = (await this.compute(result.run, silent, remote)).job;
      return api.result(result.job, choice, this.abort.signal);
    });
  }

  /** Forget the photo, here and on the server. */
  close() {
    this.stop();
    this.abort.abort();
    if (this.remote) api.deletePhoto(this.remote);
  }
}
