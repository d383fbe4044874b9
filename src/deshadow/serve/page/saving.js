// Saves results: as a file in a chosen format and quality, into the clipboard, or all of them as a zip archive.

import { save } from "./opening.js";
import { distinguish, zip } from "./zip.js";

export class Saving {
  /** `form` has the fields format and quality; `onSaved` is called after a result was saved. */
  constructor(session, form, notes, onSaved) {
    Object.assign(this, { session, notes, onSaved });
    this.format = form.elements.format;
    this.quality = form.elements.quality;
    this.formats = [];
    this.format.addEventListener("change", () => this.label());
    this.quality.addEventListener("input", () => this.label());
    const copies = typeof ClipboardItem === "function" && navigator.clipboard?.write !== undefined;
    form.querySelector("[data-do=copy]").hidden = !copies;
  }

  /** Offer the formats that the server writes. */
  configure(formats) {
    this.formats = formats;
    const titles = { WEBP: "WebP", HEIF: "HEIC" };
    const options = formats.map(({ name }) => new Option(titles[name] ?? name, name));
    this.format.replaceChildren(new Option("Same format", ""), ...options);
    this.label();
  }

  /** Whether the chosen format takes a quality. */
  get lossy() {
    return this.formats.some(({ name, lossy }) => name === this.format.value && lossy);
  }

  label() {
    this.quality.closest("label").hidden = !this.lossy;
    this.quality.closest("label").querySelector("output").value = `${this.quality.value} %`;
    const { min, max, value } = this.quality;
    this.quality.style.setProperty("--share", String((value - min) / (max - min)));
  }

  get choice() {
    return { format: this.format.value || null, quality: this.lossy ? Number(this.quality.value) : null };
  }

  /** Fetch the result of a photo, and note that the person has it. */
  async take(photo, choice = this.choice) {
    const { result } = photo.editing;
    const found = await photo.fetchResult(choice);
    photo.saved = result;
    return { file: found.file, name: found.name ?? photo.name };
  }

  async download(photo) {
    if (!photo?.editing?.result) return;
    try {
      const { file, name } = await this.take(photo);
      save(file, name);
      this.onSaved();
    } catch (error) {
      this.session.trouble(photo, error);
    }
  }

  async copy(photo) {
    if (!photo?.editing?.result) return;
    const png = this.take(photo, { format: "PNG" }).then(({ file }) => new Blob([file], { type: "image/png" }));
    try {
      // The promise is passed on as it is: the browser allows the copy only right after the click.
      await navigator.clipboard.write([new ClipboardItem({ "image/png": png })]);
      this.onSaved();
      this.notes.show("Copied to the clipboard as PNG.");
    } catch {
      this.notes.show("The browser did not allow the copy. Download the photo instead.", { kind: "trouble" });
    }
  }

  /** Download the results of all photos as one archive. */
  async downloadAll(photos) {
    const done = photos.filter((photo) => photo.editing?.result);
    const files = [];
    try {
      for (const photo of done) {
        this.notes.show(`Collecting photo ${files.length + 1} of ${done.length}.`);
        files.push(await this.take(photo));
      }
      const names = distinguish(files.map(({ name }) => name));
      save(await zip(files.map(({ file }, i) => ({ name: names[i], file }))), "deshadowed.zip");
      this.notes.show(`${done.length} photo${done.length === 1 ? "" : "s"} downloaded as deshadowed.zip.`);
      this.onSaved();
    } catch (error) {
      this.session.trouble(done[files.length], error);
    }
  }
}
