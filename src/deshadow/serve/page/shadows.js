// The found shadows as buttons: they do what a click on the photo does, for keyboards and screen readers.

export class Shadows {
  constructor(element, { toggle, selectAll, clear, point }) {
    this.list = element.querySelector(".chips");
    this.note = element.querySelector(".found");
    this.all = element.querySelector("[data-do=all]");
    this.none = element.querySelector("[data-do=clear]");
    this.all.addEventListener("click", selectAll);
    this.none.addEventListener("click", clear);
    const number = (event) => Number(event.target.closest("[data-shadow]")?.dataset.shadow ?? 0);
    this.list.addEventListener("click", (event) => number(event) && toggle(number(event)));
    for (const [event, found] of [
      ["pointerover", number],
      ["focusin", number],
      ["pointerleave", () => 0],
      ["focusout", () => 0],
    ]) {
      this.list.addEventListener(event, (raised) => point(found(raised)));
    }
  }

  say(text) {
    this.note.textContent = text;
  }

  /** Mark the button of the shadow under the pointer. */
  point(number) {
    for (const chip of this.list.children) chip.classList.toggle("pointed", chip.dataset.shadow === String(number));
  }

  /** Draw the buttons; the one that had the focus keeps it. */
  draw(editing) {
    const focused = document.activeElement?.dataset?.shadow;
    const { width, height } = editing.photo;
    const buttons = editing.present.map(({ number, area, sure }) => {
      const button = document.createElement("button");
      const share = (100 * area) / (width * height);
      const percent = `${share < 1 ? "less than 1" : Math.round(share)} % of the photo`;
      const size = sure ? percent : `${percent}, may not be a shadow`;
      button.type = "button";
      button.className = sure ? "chip" : "chip unsure";
      button.dataset.shadow = String(number);
      button.textContent = String(number);
      button.setAttribute("aria-pressed", String(editing.selected.has(number)));
      button.setAttribute("aria-label", `Shadow ${number}, ${size}`);
      button.title = size;
      return button;
    });
    this.list.replaceChildren(...buttons);
    if (focused) buttons.find((button) => button.dataset.shadow === focused)?.focus();
    this.list.hidden = buttons.length === 0;
    this.all.hidden = buttons.length < 2;
    this.all.disabled = buttons.length === editing.selected.size;
    this.none.disabled = editing.empty;
  }
}
