// The calls to the server, and the errors that they can end with.

/** An error: a code for the page, a sentence for the person, and the seconds to wait before the next try. */
export class ApiError extends Error {
  constructor(code, message, wait = 0) {
    super(message);
    this.code = code;
    this.wait = wait;
  }
}

const GONE = "The server does not answer. Is deshadow serve still running?";

async function call(path, options = {}) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("gone", GONE);
  }
  if (response.ok) return response;
  const body = await response.json().catch(() => null);
  const { code = "internal", message = "The request failed." } = body?.error ?? {};
  throw new ApiError(code, message, Number(response.headers.get("Retry-After")) || 2);
}

const json = async (path, options) => (await call(path, options)).json();
const blob = async (path, options) => (await call(path, options)).blob();
const pause = (seconds, signal) =>
  new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const timer = setTimeout(resolve, seconds * 1000);
    signal?.addEventListener("abort", () => (clearTimeout(timer), reject(signal.reason)), { once: true });
  });

/** Try again while the queue is full; `onFull` is called with the seconds until the next try. */
async function retryWhileFull(attempt, signal, onFull) {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (error.code !== "queue_full" && error.code !== "busy") throw error;
      onFull?.(error.wait);
      await pause(error.wait, signal);
    }
  }
}

export const settings = () => json("/api/settings");
export const alive = () => call("/healthz").then(() => true, () => false);
export const picture = (path, signal) => blob(path, { signal });

export function upload(file, name, signal, onFull) {
  const body = new FormData();
  body.append("file", file, name);
  return retryWhileFull(() => json("/api/photos", { method: "POST", body, signal }), signal, onFull);
}

export const shadows = (photo, sensitivity, signal, onFull) =>
  retryWhileFull(() => json(`${photo.shadows}?sensitivity=${sensitivity}`, { signal }), signal, onFull);

export const deletePhoto = (photo) =>
  fetch(`/api/photos/${photo.id}`, { method: "DELETE", keepalive: true }).catch(() => null);

/** Start a job: `options` are form fields, `mask` is a PNG, `base` the id of the job to start from. */
export function startJob(photo, options, mask, base, signal, onFull) {
  const body = new FormData();
  for (const [name, value] of Object.entries(options)) body.append(name, String(value));
  if (base) body.append("base", base);
  if (mask) body.append("mask", mask, "mask.png");
  const start = () => json(`/api/photos/${photo.id}/jobs`, { method: "POST", body, signal });
  return retryWhileFull(start, signal, onFull);
}

export const cancel = (job) => json(`/api/jobs/${job.id}/cancel`, { method: "POST" });
export const finish = (job) => json(`/api/jobs/${job.id}/finish`, { method: "POST" });

/** Wait until a job has ended, and return it; `onProgress` is called with the job at every change. */
export function follow(job, signal, onProgress) {
  return new Promise((resolve, reject) => {
    const events = new EventSource(`/api/jobs/${job.id}/events`);
    let misses = 0;
    const end = (settle, value) => {
      events.close();
      settle(value);
    };
    signal.addEventListener("abort", () => end(reject, signal.reason), { once: true });
    events.addEventListener("progress", (event) => {
      misses = 0;
      onProgress(JSON.parse(event.data));
    });
    events.addEventListener("end", (event) => end(resolve, JSON.parse(event.data)));
    events.onerror = async () => {
      // The browser reconnects a broken stream by itself, unless the server or the job no longer exists.
      try {
        await json(`/api/jobs/${job.id}`, { signal });
        if (++misses >= 5) throw new ApiError("gone", GONE);
      } catch (error) {
        end(reject, error);
      }
    };
  });
}

/** The result to download in a format and quality (null: those of the photo), and its file name. */
export async function result(job, { format = null, quality = null }, signal) {
  const query = new URLSearchParams();
  if (format) query.set("format", format);
  if (quality) query.set("quality", String(quality));
  const response = await call(`${job.result}?${query}`, { signal });
  const name = /filename\*=UTF-8''([^;]+)/.exec(response.headers.get("Content-Disposition") ?? "")?.[1];
  return { file: await response.blob(), name: name && decodeURIComponent(name) };
}
