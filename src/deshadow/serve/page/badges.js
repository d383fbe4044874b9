// The numbers of the found shadows, on the photo. They are those of the buttons in the panel.

const APART = 26; // CSS pixels between two numbers at least; of two that are closer the smaller shadow's is not shown
const SMALL = 52; // CSS pixels: a shadow that is narrower is small
const LIFT = 15; // CSS pixels from the edge of a small shadow to the middle of its number

export class Badges {
  constructor(stage, element) {
    this.stage = stage;
    this.element = element;
    this.drawn = new Map(); // number → element
    stage.addEventListener("move", () => this.place());
  }

  /** Show the numbers of these shadows of a photo; none if `editing` is null. */
  draw(editing) {
    this.editing = editing;
    const present = editing?.present ?? [];
    const wanted = new Set(present.map(({ number }) => number));
    for (const [number, badge] of this.drawn) {
      if (wanted.has(number)) continue;
      badge.remove();
      this.drawn.delete(number);
    }
    for (const { number, sure } of present) {
      if (!this.drawn.has(number)) {
        const badge = document.createElement("span");
        badge.className = "badge";
        badge.textContent = String(number);
        badge.dataset.badge = String(number);
        this.element.append(badge);
        this.drawn.set(number, badge);
      }
      this.drawn.get(number).classList.toggle("selected", editing.selected.has(number));
      this.drawn.get(number).classList.toggle("unsure", !sure);
    }
    this.place();
  }

  /** Mark the number of the shadow under the pointer. */
  point(number) {
    for (const [own, badge] of this.drawn) badge.classList.toggle("pointed", own === number);
    this.place();
  }

  place() {
    if (!this.editing) return;
    const { x, y, scale, stage } = this.stage.view;
    const taken = [];
    for (const { number, centre, box } of this.editing.present) {
      const badge = this.drawn.get(number);
      const left = x + (centre[0] + 0.5) * scale;
      let top = y + (centre[1] + 0.5) * scale;
      // The number of a small shadow is above it, so that it does not hide it; at the upper edge it is below.
      if (Math.min(box[2] - box[0], box[3] - box[1]) * scale < SMALL) {
        const above = y + box[1] * scale - LIFT;
        top = above > LIFT ? above : y + box[3] * scale + LIFT;
      }
      const outside = left < 0 || top < 0 || left > stage.width || top > stage.height;
      const crowded = taken.some((other) => Math.hypot(other[0] - left, other[1] - top) < APART);
      badge.hidden = outside || (crowded && !badge.matches(".pointed, .selected"));
      if (badge.hidden) continue;
      taken.push([left, top]);
      badge.style.transform = `translate(${left}px, ${top}px) translate(-50%, -50%)`;
    }
  }
}
