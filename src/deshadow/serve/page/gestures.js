// Mouse, touch and pen on the stage: pick, paint, pan, pinch and zoom.

const CLICK = 5; // CSS pixels that the pointer may move during a click

export class Gestures {
  /**
   * `tool()` gives "pick", "brush" or "eraser"; `size()` the brush's diameter in CSS pixels;
   * `idle()` whether the mask may be changed now.
   * `on` has pick(point), hover(point or null), paintFrom(point), paint(from, to, radius, value), painted(value) and
   * unpainted().
   */
  constructor(stage, { tool, size, idle, on }) {
    Object.assign(this, { stage, tool, size, idle, on });
    this.pointers = new Map();
    this.mode = null;
    this.space = false;
    this.cursor = stage.element.querySelector(".cursor");
    const { element } = stage;
    element.addEventListener("pointerdown", (event) => this.down(event));
    element.addEventListener("pointermove", (event) => this.move(event));
    element.addEventListener("pointerup", (event) => this.up(event));
    element.addEventListener("pointercancel", (event) => this.up(event, true));
    element.addEventListener("pointerleave", (event) => this.leave(event));
    element.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    element.addEventListener("dblclick", (event) => this.double(event));
  }

  place(event) {
    const box = this.stage.element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  get painting() {
    return this.tool() !== "pick";
  }

  down(event) {
    if (!this.stage.editing || event.target.closest("button, [role=slider]")) return;
    const at = this.place(event);
    this.pointers.set(event.pointerId, at);
    this.stage.element.setPointerCapture(event.pointerId);
    if (this.pointers.size === 2) return this.beginPinch();
    if (this.pointers.size > 2) return;
    this.start = at;
    const pans = this.space || event.button === 1 || (event.button === 0 && !this.painting) || !this.idle();
    if (event.button > 1 && event.button !== 5) return;
    if (pans) {
      this.mode = event.button === 1 || this.space ? "pan" : "click";
      if (event.button === 1) event.preventDefault();
      return this.pointAt(at, event);
    }
    // Button 5 is the eraser end of a pen.
    const erases = this.tool() === "eraser" || event.button === 5 || (event.buttons & 32) !== 0;
    this.value = erases !== event.altKey ? 0 : 1;
    this.mode = "paint";
    this.last = this.stage.view.toPhoto(at.x, at.y);
    this.on.paintFrom(this.last);
    this.dab(this.last, event);
    this.pointAt(at, event);
  }

  move(event) {
    const at = this.place(event);
    const before = this.pointers.get(event.pointerId);
    if (before) this.pointers.set(event.pointerId, at);
    if (this.mode === "pinch") return this.pinch();
    if (before && this.mode === "paint") {
      const steps = event.getCoalescedEvents?.() ?? [];
      for (const step of steps.length ? steps : [event]) {
        const place = this.place(step);
        this.dab(this.stage.view.toPhoto(place.x, place.y), step);
      }
    } else if (before && this.mode) {
      if (this.mode === "click" && Math.hypot(at.x - this.start.x, at.y - this.start.y) > CLICK) this.mode = "pan";
      if (this.mode === "pan") {
        this.stage.view.panBy(at.x - before.x, at.y - before.y);
        this.stage.moved();
      }
    }
    this.pointAt(at, event);
  }

  dab(point, event) {
    const pressed = event.pointerType === "pen" && event.pressure > 0 ? 0.4 + 0.6 * event.pressure : 1;
    const radius = (this.size() * pressed) / 2 / this.stage.view.scale;
    this.on.paint(this.last, point, radius, this.value);
    this.last = point;
  }

  up(event, broken = false) {
    const known = this.pointers.delete(event.pointerId);
    if (!known) return;
    const { mode } = this;
    if (mode === "pinch") {
      // The remaining finger neither paints nor picks.
      if (this.pointers.size === 0) this.mode = null;
      return;
    }
    this.mode = null;
    if (mode === "paint") this.on.painted(this.value);
    const at = this.place(event);
    if (mode === "click" && !broken) this.on.pick(this.stage.view.toPhoto(at.x, at.y));
    if (event.pointerType === "touch") this.leave(event);
    else this.pointAt(at, event);
  }

  leave(event) {
    if (this.pointers.has(event.pointerId)) return;
    this.cursor.hidden = true;
    this.on.hover(null);
  }

  beginPinch() {
    // With a second finger it is a pinch, and the stroke is undone.
    if (this.mode === "paint") this.on.unpainted();
    this.mode = "pinch";
    this.cursor.hidden = true;
    this.pinched = this.fingers();
  }

  fingers() {
    const [a, b] = [...this.pointers.values()];
    return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, spread: Math.max(1, Math.hypot(a.x - b.x, a.y - b.y)) };
  }

  pinch() {
    if (this.pointers.size < 2) return;
    const now = this.fingers();
    const { view } = this.stage;
    view.panBy(now.x - this.pinched.x, now.y - this.pinched.y);
    view.zoomTo((view.scale * now.spread) / this.pinched.spread, now.x, now.y);
    this.pinched = now;
    this.stage.moved();
  }

  wheel(event) {
    if (!this.stage.editing) return;
    event.preventDefault();
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    const at = this.place(event);
    const { view } = this.stage;
    // A pinch on a trackpad comes as a wheel with Control, in small steps.
    const speed = event.ctrlKey ? 0.01 : 0.0018;
    view.zoomTo(view.scale * Math.exp(-event.deltaY * lines * speed), at.x, at.y);
    this.stage.moved();
    this.pointAt(at, event);
  }

  double(event) {
    const { view, editing } = this.stage;
    if (!editing || this.painting || event.target.closest("button, [role=slider]")) return;
    const at = this.place(event);
    if (editing.shadowAt(view.toPhoto(at.x, at.y))) return;
    if (view.fitted) view.zoomTo(Math.max(1, view.scale * 2), at.x, at.y);
    else view.fit();
    this.stage.moved();
  }

  setSpace(held) {
    this.space = held;
    this.stage.element.classList.toggle("grab", held);
    if (held) this.cursor.hidden = true;
  }

  /** Show the brush or the shadow under the pointer. */
  pointAt(at, event) {
    const { stage, cursor } = this;
    if (!stage.editing) return;
    const brush = this.painting && !this.space && this.idle() && this.mode !== "pan" && this.mode !== "pinch";
    cursor.hidden = !brush;
    stage.element.classList.toggle("paints", brush);
    stage.element.classList.toggle("dragged", this.mode === "pan");
    if (brush) {
      const size = this.size();
      cursor.style.width = cursor.style.height = `${size}px`;
      cursor.style.transform = `translate(${at.x - size / 2}px, ${at.y - size / 2}px)`;
      this.on.hover(null);
    } else if (event.pointerType !== "touch") {
      this.on.hover(this.mode === "pan" ? null : stage.view.toPhoto(at.x, at.y));
    }
  }
}
