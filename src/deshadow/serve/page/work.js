// Runs one removal on the server: waits for a place in the queue, follows the progress, fetches previews, cancels.

import * as api from "./api.js";

const STAGES = {
  waiting: ({ position }) => (position > 0 ? `Waiting: ${position} before this` : "Waiting"),
  detect: () => "Looking for shadows",
  quick: () => "Whole photo",
  windows: ({ done, total }) => `Window ${Math.min(done + 1, total)} of ${total}`,
  write: () => "Writing the result",
};

/** What a job is doing now. */
const describe = (job) => (STAGES[job.state === "queued" ? "waiting" : job.stage] ?? (() => "Working"))(job);

/** The time that a job will still take, or how much of it is done. */
function remaining({ state, left, share }) {
  if (state !== "running") return "";
  if (!(left >= 1)) return share > 0 ? `${Math.floor(100 * share)} %` : "";
  return left >= 90 ? `${Math.round(left / 60)} min left` : `${Math.round(left)} s left`;
}

export class Work {
  constructor() {
    this.abort = null;
    this.job = null;
  }

  get busy() {
    return this.abort !== null;
  }

  /**
   * Run a job; returns { job, blob }, the job and its picture, which is null if there was no shadow; or null if it was
   * cancelled.
   *
   * `run` is { options, mask (a PNG, promised), base }; `on` has report({ words, left, share }) and preview(bitmap).
   */
  async run(photo, run, on) {
    this.abort = new AbortController();
    const { signal } = this.abort;
    let shown = null;
    let decoding = false;
    const look = async (url) => {
      if (!url || url === shown || decoding) return;
      decoding = true;
      shown = url;
      try {
        const bitmap = await createImageBitmap(await api.picture(url, signal));
        if (!signal.aborted && this.busy) on.preview(bitmap);
      } catch {
        // A missing preview does not matter: the next one follows.
      }
      decoding = false;
    };
    try {
      const full = (wait) => on.report({ words: `Queue full: trying again in ${wait} s`, left: "", share: 0 });
      const begun = await api.startJob(photo, run.options, await run.mask, run.base, signal, full);
      if (signal.aborted) await api.cancel(begun);
      else this.job = begun;
      const ended = await api.follow(begun, (job) => {
        if (signal.aborted) return;
        on.report({ words: describe(job), left: remaining(job), share: job.share });
        look(job.preview);
      });
      if (ended.state === "failed") throw new api.ApiError(ended.error.code, ended.error.message);
      if (ended.state === "cancelled") return null;
      return { job: ended, blob: ended.found ? await api.picture(ended.picture, signal) : null };
    } catch (error) {
      if (error.name === "AbortError") return null;
      throw error;
    } finally {
      // Another removal may have started while this one was being cancelled.
      if (this.abort?.signal === signal) this.abort = this.job = null;
    }
  }

  async cancel() {
    if (!this.busy || this.abort.signal.aborted) return;
    this.abort.abort();
    // The stream of events says when the job has ended.
    if (this.job) await api.cancel(this.job).catch(() => null);
  }
}
