// One removal from its beginning to its end: wait for a place, follow, show what is there so far, cancel.

import * as api from "./api.js";

const STAGES = {
  waiting: ({ position }) => (position > 0 ? `Waiting: ${position} ahead` : "Waiting"),
  detect: () => "Looking for shadows",
  quick: () => "Whole picture",
  windows: ({ done, total }) => `Window ${Math.min(done + 1, total)} of ${total}`,
  write: () => "Putting it together",
};

const time = (seconds) =>
  seconds >= 90 ? `about ${Math.round(seconds / 60)} min left` : `about ${Math.max(1, Math.round(seconds))} s left`;

/** What a job does at this moment, in words. */
export function describe(job) {
  const what = (STAGES[job.state === "queued" ? "waiting" : job.stage] ?? (() => "Working"))(job);
  return job.state === "running" && job.left > 1 ? `${what}, ${time(job.left)}` : what;
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
   * Run a job; gives it as it ended, or null when it was cancelled.
   *
   * `run` is { options, mask (PNG or null), base }; `on` has words(text), share(0…1) and preview(bitmap).
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
      const full = (wait) => on.words(`The queue is full. Trying again in ${wait} s`);
      this.job = await api.begin(photo, run.options, run.mask, run.base, signal, full);
      if (signal.aborted) await api.cancel(this.job);
      const ended = await api.follow(this.job, (job) => {
        if (signal.aborted) return;
        on.words(describe(job));
        on.share(job.share);
        look(job.preview);
      });
      if (ended.state === "failed") throw new api.ApiError(ended.error.code, ended.error.message);
      return ended.state === "cancelled" ? null : ended;
    } catch (error) {
      if (error.name === "AbortError") return null;
      throw error;
    } finally {
      this.abort = this.job = null;
    }
  }

  async cancel() {
    if (!this.busy || this.abort.signal.aborted) return;
    this.abort.abort();
    // The stream says when it has really ended; if the server is gone it says that too.
    if (this.job) await api.cancel(this.job).catch(() => null);
  }
}
