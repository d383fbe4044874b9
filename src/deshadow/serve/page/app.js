// Connects the parts of the page: buttons, keys and gestures with the session, and the session with what is shown.

import * as api from "./api.js";
import { Compare } from "./compare.js";
import { Controls, paintRange } from "./controls.js";
import { drawEmpty } from "./empty.js";
import { Gestures } from "./gestures.js";
import * as keys from "./keys.js";
import { Notes } from "./notes.js";
import * as opening from "./opening.js";
import { Session } from "./session.js";
import { Shadows } from "./shadows.js";
import { Stage } from "./stage.js";

const $ = (selector) => document.querySelector(selector);
const buttons = (name) => document.querySelectorAll(`[data-do=${name}]`);
const panel = $("#panel");

const notes = new Notes($("#note"));
const stage = new Stage($("#stage"));
const compare = new Compare(stage, { divider: $("#divider"), toggle: $("#compare"), hold: $("#hold") });
const controls = new Controls(panel, () => {
  stage.dilate = controls.get("dilate");
  stage.feather = controls.get("feather");
  stage.later();
});
const session = new Session({ stage, controls, notes, compare });
const ready = () => session.state === "ready";

const shadows = new Shadows($("#shadows"), {
  toggle: (number) => ready() && session.editing.toggle(number),
  selectAll: () => actions.all(),
  clear: () => actions.clear(),
  point: (number) => point(number),
});

function point(number) {
  if (stage.hover === number) return;
  stage.hover = number;
  stage.element.classList.toggle("points", number > 0);
  stage.later();
}

// The brush

const size = panel.elements.size;
const tool = () => panel.elements.tool.value;

function setTool(name) {
  panel.elements.tool.value = name;
  document.body.dataset.tool = name;
  stage.element.classList.remove("paints");
  point(0);
  update();
}

function setSize(value) {
  size.value = String(value);
  paintRange(size);
  panel.querySelector("output[for=size]").value = `${size.value} px`;
  const { cursor } = gestures;
  cursor.style.width = cursor.style.height = `${size.value}px`;
}

const gestures = new Gestures(stage, {
  tool,
  size: () => Number(size.value),
  idle: ready,
  on: {
    hover: (at) => point(at && ready() && tool() === "pick" ? session.editing.shadowAt(at) : 0),
    pick: (at) => {
      const number = ready() ? session.editing.shadowAt(at) : 0;
      if (!number) return;
      compare.set(false);
      const selected = session.editing.toggle(number);
      notes.say(`Shadow ${number} ${selected ? "selected" : "deselected"}`);
    },
    paintFrom: () => compare.set(false),
    paint: (from, to, radius, value) => {
      session.editing.mask.stroke(from, to, radius, value);
      stage.painted(from, to, radius, value);
    },
    painted: (value) => session.editing.painted(value ? "Brush" : "Eraser"),
    unpainted: () => {
      session.editing.mask.restore(session.editing.history.current.runs);
      stage.maskChanged();
    },
  },
});

panel.addEventListener("change", (event) => event.target.name === "tool" && setTool(tool()));
size.addEventListener("input", () => setSize(Number(size.value)));

// What the buttons and keys do

function zoom(factor) {
  stage.view.zoomTo(stage.view.scale * factor);
  stage.moved();
}

const pixels = () => 1 / stage.ratio;

const actions = {
  open: () => $("#file").click(),
  undo: () => session.travel("undo"),
  redo: () => session.travel("redo"),
  download: () => session.download(),
  help: () => $("#help").showModal(),
  quick: () => session.remove("quick"),
  remove: () => session.remove("removal"),
  variant: () => session.variant(),
  cancel: () => session.cancel(),
  escape: () => (session.work.busy ? session.cancel() : notes.hide()),
  import: () => $("#maskfile").click(),
  export: () => session.exportMask(),
  last: () => session.useLast(),
  all: () => ready() && session.editing.present.length && (compare.set(false), session.editing.selectAll()),
  clear: () => ready() && !session.editing.empty && session.editing.clear(),
  pick: () => setTool("pick"),
  brush: () => setTool("brush"),
  eraser: () => setTool("eraser"),
  smaller: () => setSize(Math.round(Number(size.value) / 1.2)),
  larger: () => setSize(Math.ceil(Number(size.value) * 1.2)),
  compare: () => $("#compare").disabled || compare.set(!compare.on),
  closer: () => zoom(1.5),
  further: () => zoom(1 / 1.5),
  fit: () => (stage.view.fit(), stage.moved()),
  pixels: () => (stage.view.zoomTo(pixels()), stage.moved()),
  zoom: () => (stage.view.fitted ? actions.pixels() : actions.fit()),
  move: (dx, dy) => (stage.view.panBy(dx, dy), stage.moved()),
  adjust: () => {
    const open = $("#adjust").classList.toggle("open");
    buttons("adjust")[0].setAttribute("aria-expanded", String(open));
  },
};

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-do]");
  // The list of shadows and the note handle the clicks on their own buttons.
  if (button && !button.closest("#shadows, #note")) actions[button.dataset.do]?.();
  // After a click of the mouse, Space drags the photo instead of pressing the same button again.
  if (event.pointerType === "mouse" && document.activeElement?.matches("button")) document.activeElement.blur();
});
keys.listen(
  Object.fromEntries(
    Object.entries(actions).map(([name, act]) => [
      name,
      (...values) => (session.editing || ["open", "help", "escape"].includes(name)) && act(...values),
    ]),
  ),
  {
    pan: (held) => gestures.setSpace(held && session.editing !== null),
    original: (held) => compare.holding(held),
  },
);
opening.listen({
  input: $("#file"),
  open: (file) => session.open(file),
  over: (hangs) => document.body.classList.toggle("dropping", hangs),
});
$("#maskfile").addEventListener("change", ({ target }) => {
  const [file] = target.files;
  target.value = "";
  if (file && ready()) session.importMask(file);
});

// What is shown

const plural = (count, one) => `${count} ${one}${count === 1 ? "" : "s"}`;

function foundText({ present, instances, removed }) {
  if (session.finding) return "Looking for shadows…";
  if (session.unknown) return "Shadow detection failed";
  if (!instances.length) return "No shadow found";
  if (!present.length) return "No shadow left";
  return `${plural(present.length, "shadow")} ${removed.size ? "left" : "found"}`;
}

function choiceText({ selected, empty, present }) {
  if (selected.size) return `${plural(selected.size, "shadow")} selected`;
  if (!empty) return "Painted area selected";
  if (present.length > 1) {
    const all = present.length === 2 ? "both" : `all ${present.length}`;
    return `None selected: ${all} will be removed`;
  }
  if (present.length) return "The shadow will be removed";
  return session.finding ? "" : "Paint over a shadow";
}

let pressed = null; // the button that started the removal

/** Show the progress instead of the buttons, or the reverse; the focus moves along. */
function swap(working) {
  const focused = document.activeElement;
  const within = focused?.closest(".buttons, .working");
  $(".buttons").hidden = working;
  $(".working").hidden = !working;
  if (!within?.hidden) return;
  if (working) pressed = focused;
  (working ? buttons("cancel")[0] : pressed)?.focus();
}

function update() {
  const { editing, state } = session;
  const idle = state === "ready";
  const working = state === "working";
  const set = (name, able) => buttons(name).forEach((button) => (button.disabled = !able));
  document.body.dataset.state = state;
  set("quick", idle || working); // during a removal they are hidden, and get the focus back after it
  set("remove", idle || working);
  swap(working);
  set("import", idle);
  set("export", idle && !editing.empty);
  set("last", idle && session.last);
  set("undo", idle && editing.history.canUndo);
  set("redo", idle && editing.history.canRedo);
  set("variant", idle && editing.result);
  set("download", idle && editing.result);
  $("#compare").disabled = $("#hold").disabled = !(idle && editing.result);
  stage.shows = { found: !working && !compare.on, mask: !compare.on, fill: working ? 0 : 1 };
  stage.later();
  if (!editing || state === "opening") {
    $("#choice").textContent = "";
    return shadows.say(state === "opening" ? "Opening the photo…" : "");
  }
  shadows.draw(editing);
  shadows.say(foundText(editing));
  $("#choice").textContent = choiceText(editing);
}

session.addEventListener("state", update);
session.addEventListener("change", update);
stage.addEventListener("compare", update);
stage.addEventListener("move", () => {
  const percent = `${Math.round(100 * stage.view.scale * stage.ratio)} %`;
  $("#zoom").textContent = percent;
  $("#zoom").ariaLabel = `Zoom ${percent}: fit to window, or actual pixels`;
});
session.addEventListener("photo", () => {
  const { name, width, height, scale } = session.editing.photo;
  controls.setScale(scale);
  $("#name").textContent = `${name} · ${width} × ${height}`;
  document.title = `${name} – deshadow`;
  setTool("pick");
});
session.addEventListener("found", () => {
  update();
  const { finding, unknown, editing } = session;
  if (finding || unknown || editing.labels) return;
  notes.show("No shadow found. Paint over a shadow to select it.", { action: ["Brush", () => setTool("brush")] });
});
session.addEventListener("nothing", () => {
  setTool("brush");
  notes.show("Paint over the shadow to remove.");
});
session.addEventListener("progress", () => {
  const { words, left, share } = session.progress;
  $("#words").textContent = words;
  $("#left").textContent = left;
  $("#progress").value = share;
  stage.element.style.setProperty("--share", String(share));
});

addEventListener("beforeunload", (event) => (session.saved && !session.work.busy) || event.preventDefault());
addEventListener("pagehide", (event) => event.persisted || (session.editing && api.deletePhoto(session.editing.photo)));

async function configure() {
  try {
    const { options, accept, max_upload: most } = await api.settings();
    session.maxUpload = most;
    controls.configure(options);
    $("#file").accept = accept;
  } catch (error) {
    session.trouble(error, configure);
  }
}

setTool("pick");
setSize(Number(size.value));
drawEmpty($("#empty"), (file) => session.open(file));
configure();
