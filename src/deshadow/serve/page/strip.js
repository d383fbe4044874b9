// The open photos as thumbnails: choose one, close one, remove from all, download all.

const SIDE = 144; // pixels of a thumbnail's longer side

export class Strip {
  /** `on` has choose(photo) and close(photo). */
  constructor(element, on) {
    this.element = element;
    this.list = element.querySelector(".thumbs");
    this.on = on;
    this.drawn = new Map(); // photo → element
    this.pictures = new Map(); // photo → the blob that its thumbnail shows
  }

  draw(photos, current) {
    this.element.hidden = photos.length < 2;
    for (const [photo, item] of this.drawn) {
      if (photos.includes(photo)) continue;
      item.remove();
      this.drawn.delete(photo);
      this.pictures.delete(photo);
    }
    if (this.element.hidden) return;
    photos.forEach((photo, index) => {
      const item = this.drawn.get(photo) ?? this.add(photo);
      const [button, close] = item.querySelectorAll("button");
      const state = describe(photo);
      item.dataset.photo = state;
      item.style.setProperty("--share", String(photo.running?.share ?? 0));
      button.setAttribute("aria-pressed", String(photo === current));
      button.setAttribute("aria-label", `${photo.name}, photo ${index + 1} of ${photos.length}: ${STATES[state]}`);
      button.title = `${photo.name}: ${STATES[state]}`;
      close.setAttribute("aria-label", `Close ${photo.name}`);
      this.paint(photo, item.querySelector("canvas"));
      if (photo === current && this.current !== photo) item.scrollIntoView({ block: "nearest", inline: "nearest" });
    });
    this.current = current;
  }

  add(photo) {
    const item = document.createElement("li");
    const button = document.createElement("button");
    const close = document.createElement("button");
    button.type = close.type = "button";
    button.className = "thumb";
    close.className = "shut";
    close.title = "Close";
    close.textContent = "×";
    button.append(document.createElement("canvas"));
    button.addEventListener("click", () => this.on.choose(photo));
    close.addEventListener("click", () => this.on.close(photo));
    item.append(button, close);
    this.list.append(item);
    this.drawn.set(photo, item);
    return item;
  }

  /** Draw the latest picture of a photo into its thumbnail. */
  async paint(photo, canvas) {
    const blob = photo.editing?.result?.blob ?? photo.blob;
    if (!blob || !photo.editing || this.pictures.get(photo) === blob) return;
    this.pictures.set(photo, blob);
    const { width, height } = photo.editing.photo;
    const scale = SIDE / Math.max(width, height);
    const size = [Math.max(1, Math.round(width * scale)), Math.max(1, Math.round(height * scale))];
    const bitmap = await createImageBitmap(blob, { resizeWidth: size[0], resizeHeight: size[1], resizeQuality: "medium" });
    [canvas.width, canvas.height] = size;
    canvas.getContext("2d").drawImage(bitmap, 0, 0);
    bitmap.close();
  }
}

const STATES = {
  waiting: "waiting",
  opening: "opening",
  finding: "looking for shadows",
  ready: "not changed",
  working: "removing",
  unsaved: "shadows removed, not downloaded",
  saved: "downloaded",
};

function describe(photo) {
  if (photo.state !== "ready") return photo.state === "opening" ? "opening" : "waiting";
  if (photo.running) return "working";
  if (photo.unsaved) return "unsaved";
  if (photo.editing.result) return "saved";
  return photo.finding ? "finding" : "ready";
}
