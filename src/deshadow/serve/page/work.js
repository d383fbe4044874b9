// One removal from its beginning to its end: wait for a place, follow, show what is there so far, cancel.

import * as api from "./api.js";

const STAGES = {
  waiting: ({ position }) => (position > 0 ? `Waiting: ${position} ahead` : "Waiting"),
  detect: () => "Looking for shadows",
  quick: () => "Whole picture",
  windows: ({ done, total }) => `Window ${Math.min(done + 1, total)} of ${total}`,
  write: () => "Putting it together",
};

/** What a job does at this moment, in words. */
const describe = (job) => (STAGES[job.state === "queued" ? "waiting" : job.stage] ?? (() => "Working"))(job);

/** How long it will still take, or how far it is. */
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
   * Run a job; gives { job, blob }, the job as it ended and its picture, which is null where there was no shadow; or
   * null when it was cancelled.
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
        // A preview that is late or gone is no loss: the next one comes.
      }
      decoding = false;
    };
    try {
      const full = (wait) => on.report({ words: `Queue full: again in ${wait} s`, left: "", share: 0 });
      const begun = await api.begin(photo, run.options, await run.mask, run.base, signal, full);
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
      // Another run may have begun while this one was being cancelled.
      if (this.abort?.signal === signal) this.abort = this.job = null;
    }
  }

  async cancel() {
    if (!this.busy || this.abort.signal.aborted) return;
    this.abort.abort();
    // The stream says when it has really ended; if the server is gone it says that too.
    if (this.job) await api.cancel(this.job).catch(() => null);
  }
}
