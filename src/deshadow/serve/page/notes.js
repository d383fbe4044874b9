// One line below the photo with a message, and a button for what to do about it.

export class Notes {
  constructor(element) {
    this.element = element;
    this.text = element.querySelector("p");
    this.action = element.querySelector("[data-do=note]");
    this.dismiss = element.querySelector("[data-do=dismiss]");
    this.spoken = document.querySelector("#spoken");
    this.dismiss.addEventListener("click", () => this.hide());
    this.action.addEventListener("click", () => {
      const { act } = this;
      this.hide();
      act?.();
    });
  }

  /**
   * Show a message. `kind`: "plain" disappears after some seconds, "brief" sooner, "trouble" stays.
   * `action`: [label, function].
   */
  show(text, { kind = "plain", action = null } = {}) {
    clearTimeout(this.timer);
    this.text.textContent = text;
    this.element.dataset.kind = kind;
    this.text.setAttribute("role", kind === "trouble" ? "alert" : "status");
    this.act = action?.[1];
    this.action.hidden = !action;
    this.action.textContent = action?.[0] ?? "";
    this.element.hidden = false;
    const seconds = kind === "brief" ? 2 : action ? 9 : 5;
    if (kind !== "trouble") this.timer = setTimeout(() => this.hide(), 1000 * seconds);
  }

  hide() {
    clearTimeout(this.timer);
    this.element.hidden = true;
  }

  /** Tell screen readers only. */
  say(text) {
    this.spoken.textContent = text;
  }
}
