// Keyboard shortcuts. Letters work wherever the focus is, except in text fields.

const typing = (target) => target.matches?.("input[type=text], textarea, [contenteditable]");

/** `actions` maps names to functions; `held` maps names to functions of true and false. */
export function listen(actions, held) {
  const plain = {
    v: "pick", b: "brush", e: "eraser", "[": "smaller", "]": "larger", a: "all", r: "remove", f: "refine",
    n: "repeat", ",": "previous", ".": "next", c: "compare", "0": "fit", "1": "pixels", "+": "closer", "=": "closer", "-": "further",
    l: "last", o: "open", d: "download", "?": "help", Escape: "escape", Delete: "clear",
  };
  const pressed = { " ": "pan", x: "original" };
  const arrows = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

  addEventListener("keydown", (event) => {
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const { target } = event;
    if (document.querySelector("dialog[open]")) return;
    if (event.ctrlKey || event.metaKey) {
      if (typing(target) || event.altKey) return;
      const chord = { z: event.shiftKey ? "redo" : "undo", y: "redo", s: "download", o: "open" }[key];
      if (!chord) return;
      event.preventDefault();
      return actions[chord]();
    }
    if (event.altKey || (typing(target) && key !== "Escape")) return;
    if (key in pressed) {
      // On buttons and radio buttons Space keeps its usual meaning.
      if (key === " " && target.matches?.("button, input[type=radio]:not(:checked)")) return;
      event.preventDefault();
      if (!event.repeat) held[pressed[key]](true);
      return;
    }
    if (key in arrows && target.matches?.(".stage")) {
      event.preventDefault();
      return actions.move(...arrows[key].map((way) => way * (event.shiftKey ? 200 : 50)));
    }
    if (key in plain) {
      event.preventDefault();
      actions[plain[key]]();
    }
  });
  addEventListener("keyup", (event) => {
    const name = pressed[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (name) held[name](false);
  });
  addEventListener("blur", () => Object.values(held).forEach((release) => release(false)));
}
