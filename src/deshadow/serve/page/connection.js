// Whether the server answers. While it does not, calls wait for it here, and the page says so.
//
// Events: "lost" (the server does not answer), "found" (it answers again).

import * as api from "./api.js";

const PAUSE = 1000; // milliseconds between two attempts

export class Connection extends EventTarget {
  constructor() {
    super();
    this.waiting = null;
  }

  get lost() {
    return this.waiting !== null;
  }

  /** Wait until the server answers; rejects if the signal is aborted before. */
  async wait(signal) {
    this.waiting ??= this.poll();
    await Promise.race([this.waiting, aborted(signal)]);
  }

  async poll() {
    if (!(await api.alive())) {
      this.dispatchEvent(new Event("lost"));
      do await new Promise((resolve) => setTimeout(resolve, PAUSE));
      while (!(await api.alive()));
      this.dispatchEvent(new Event("found"));
    }
    this.waiting = null;
  }
}

const aborted = (signal) =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
