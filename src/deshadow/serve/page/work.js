// Runs removals on the server: waits for a place in the queue, follows the progress, fetches previews, ends early.

import * as api from "./api.js";

const STAGES = {
  waiting: ({ position }) => (position > 0 ? `Waiting: ${position} before this` : "Waiting"),
  detect: () => "Removing the shadow",
  quick: () => "Removing the shadow",
  windows: ({ done, total }) => `Refining: ${done} of ${total}`,
  write: () => "Writing the result",
};

/** What a job is doing now. */
const describe = (job) => (STAGES[job.state === "queued" ? "waiting" : job.stage] ?? (() => "Working"))(job);

/** The time that a job will still take, in words; empty while it is unknown. */
function remaining({ left }) {
  if (left === null || left < 1) return "";
  return left >= 90 ? `${Math.round(left / 60)} min left` : `${Math.round(left)} s left`;
}

/** One removal, which may need several jobs: those of earlier results, if the server has lost them, and its own. */
export class Work {
  /** `on` has report({ words, left, share }) and preview(blob). */
  constructor(on) {
    this.on = on;
    this.abort = new AbortController();
    this.job = null;
    this.windows = 0; // windows that the running job has done
    this.kept = false; // whether the person wants what is done so far
  }

  get signal() {
    return this.abort.signal;
  }

  /**
   * Run a job; returns { job, blob }, the job and its picture, which is null if there was no shadow.
   *
   * `run` is { options, mask (a PNG), base (the id of a job), windows (to end after so many, if given) }. An AbortError
   * is thrown if the job was stopped; an ApiError of the code "lost" if the server ended it by itself.
   */
  async run(photo, { options, mask, base, windows = Infinity }) {
    const { signal, on } = this;
    const full = (wait) => on.report({ words: `Queue full: trying again in ${wait} s`, left: "", share: 0 });
    this.windows = 0;
    this.job = await api.startJob(photo, options, mask, base, signal, full);
    try {
      const ended = await api.follow(this.job, signal, (job) => {
        this.windows = job.stage === "windows" ? job.done : this.windows;
        on.report({ words: this.kept ? "Keeping what is done" : describe(job), left: remaining(job), share: job.share });
        if (job.preview) this.look(job.preview);
        if (this.windows >= windows) this.finish();
      });
      if (ended.state === "failed") throw new api.ApiError(ended.error.code, ended.error.message);
      if (ended.state === "cancelled") throw new api.ApiError("lost", "The server ended the removal.");
      return { job: ended, blob: ended.found ? await api.picture(ended.picture, signal) : null };
    } finally {
      this.job = null;
    }
  }

  async look(url) {
    if (url === this.seen || this.looking) return;
    this.looking = true;
    this.seen = url;
    // A missing preview does not matter: the next one follows.
    const blob = await api.picture(url, this.signal).catch(() => null);
    this.looking = false;
    if (blob && !this.signal.aborted) this.on.preview(blob);
  }

  /** End the removal and discard it. */
  stop() {
    const { job } = this;
    this.abort.abort();
    if (job) api.cancel(job).catch(() => null);
  }

  /** End the removal after its current window and keep what is done; without a window there is nothing to keep. */
  keep() {
    if (!this.windows) return this.stop();
    this.kept = true;
    this.on.report({ words: "Keeping what is done", left: "", share: 1 });
    this.finish();
  }

  finish() {
    if (this.job) api.finish(this.job).catch(() => null);
  }
}
