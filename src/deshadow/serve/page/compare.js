// Compares before and after: a divider to drag or move with the arrow keys, and a button to hold for the original.

export class Compare {
  constructor(stage, { divider, toggle, hold }) {
    Object.assign(this, { stage, divider, toggle, hold });
    this.on = false;
    this.share = 0.5;
    toggle.addEventListener("click", () => this.set(!this.on));
    stage.addEventListener("move", () => this.place());

    divider.addEventListener("pointerdown", (event) => {
      divider.setPointerCapture(event.pointerId);
      divider.focus({ preventScroll: true });
    });
    divider.addEventListener("pointermove", (event) => {
      if (!divider.hasPointerCapture(event.pointerId)) return;
      const { left, right } = this.span();
      const at = event.clientX - stage.element.getBoundingClientRect().left;
      this.move((at - left) / (right - left));
    });
    divider.addEventListener("keydown", (event) => {
      const step = event.shiftKey ? 0.1 : 0.02;
      const moves = { ArrowLeft: -step, ArrowRight: step, Home: -1, End: 1 };
      if (!(event.key in moves)) return;
      event.preventDefault();
      event.stopPropagation();
      this.move(this.share + moves[event.key]);
    });

    // The original is shown while the button is held, by mouse, finger or key.
    hold.addEventListener("pointerdown", (event) => {
      hold.setPointerCapture(event.pointerId);
      this.holding(true);
    });
    for (const end of ["pointerup", "pointercancel", "lostpointercapture", "blur"]) {
      hold.addEventListener(end, () => this.holding(false));
    }
    hold.addEventListener("keydown", (event) => {
      if (event.key !== " " && event.key !== "Enter") return;
      event.preventDefault();
      event.stopPropagation();
      this.holding(true);
    });
    hold.addEventListener("keyup", () => this.holding(false));
    hold.addEventListener("contextmenu", (event) => event.preventDefault());
  }

  /** The range of the divider: the visible part of the photo. */
  span() {
    const { left, width } = this.stage.view.rectangle;
    return { left: Math.max(0, left), right: Math.min(this.stage.view.stage.width, left + width) };
  }

  set(on) {
    this.on = on;
    this.toggle.setAttribute("aria-pressed", String(on));
    this.divider.hidden = !on;
    this.place();
    this.stage.dispatchEvent(new Event("compare"));
  }

  move(share) {
    this.share = Math.min(1, Math.max(0, share));
    this.place();
  }

  place() {
    const { stage, divider } = this;
    if (!this.on || !stage.editing) {
      stage.split = null;
      return stage.redraw();
    }
    const { left, right } = this.span();
    stage.split = left + (right - left) * this.share;
    const { top, height } = stage.view.rectangle;
    divider.style.transform = `translateX(${stage.split}px)`;
    divider.style.top = `${Math.max(0, top)}px`;
    divider.style.height = `${Math.min(stage.view.stage.height, top + height) - Math.max(0, top)}px`;
    divider.setAttribute("aria-valuenow", String(Math.round(100 * this.share)));
    divider.setAttribute("aria-valuetext", `${Math.round(100 * this.share)} % before`);
    stage.redraw();
  }

  holding(held) {
    const original = held && !this.hold.disabled;
    if (this.stage.original === original) return;
    this.stage.original = original;
    this.hold.classList.toggle("held", original);
    this.divider.classList.toggle("away", original);
    this.stage.redraw();
  }
}
