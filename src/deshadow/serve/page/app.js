// Connects the parts of the page: buttons, keys and gestures with the session, and the session with what is shown.

import * as api from "./api.js";
import { ask } from "./ask.js";
import { Badges } from "./badges.js";
import { Compare } from "./compare.js";
import { Connection } from "./connection.js";
import { Controls, paintRange } from "./controls.js";
import { Gestures } from "./gestures.js";
import * as keys from "./keys.js";
import { exportMask, importMask } from "./maskfile.js";
import { Notes } from "./notes.js";
import * as opening from "./opening.js";
import { Panel } from "./panel.js";
import { Saving } from "./saving.js";
import { Session } from "./session.js";
import { Shadows } from "./shadows.js";
import { Stage } from "./stage.js";
import { drawStart } from "./start.js";
import { Strip } from "./strip.js";
import * as theme from "./theme.js";

const $ = (selector) => document.querySelector(selector);
const form = $("#panel");

const notes = new Notes($("#note"));
const stage = new Stage($("#stage"));
const compare = new Compare(stage, { divider: $("#divider"), toggle: $("#compare"), hold: $("#hold") });
const controls = new Controls(form, (name) => {
  if (name === "sensitivity") return session.findAgain();
  stage.dilate = controls.get("dilate");
  stage.feather = controls.get("feather");
  stage.later();
});
const connection = new Connection();
const session = new Session({ stage, controls, notes, compare, connection });
const saving = new Saving(session, form, notes, () => panel.update());
const badges = new Badges(stage, $("#badges"));
const ready = () => session.state === "ready";

const shadows = new Shadows($("#shadows"), {
  toggle: (number) => toggle(number),
  selectAll: () => actions.all(),
  clear: () => actions.clear(),
  point: (number) => point(number),
});
const strip = new Strip($("#strip"), { choose: (photo) => session.choose(photo), close });
const panel = new Panel({ session, stage, compare, shadows, badges, strip });

/** Highlight a shadow on the photo, its number there, and its button. */
function point(number) {
  if (stage.hover === number) return;
  stage.hover = number;
  stage.element.classList.toggle("points", number > 0);
  badges.point(number);
  shadows.point(number);
  stage.later();
}

function toggle(number) {
  if (!ready()) return;
  compare.set(false);
  const selected = session.editing.toggle(number);
  notes.say(`Shadow ${number} ${selected ? "selected" : "deselected"}`);
}

/** Close a photo; one whose result was not downloaded only after asking. */
async function close(photo) {
  if (photo.unsaved) {
    const answers = { save: "Download and close", drop: "Close without it", "": "Keep it open" };
    const answer = await ask($("#ask"), `Close ${photo.name}?`, "Its result has not been downloaded.", answers);
    if (!answer) return;
    if (answer === "save") await saving.download(photo);
  }
  session.close(photo);
}

// The brush

const size = form.elements.size;
const tool = () => form.elements.tool.value;

function setTool(name) {
  form.elements.tool.value = name;
  document.body.dataset.tool = name;
  stage.element.classList.remove("paints");
  point(0);
  if (name !== "pick") compare.set(false);
  panel.update();
}

function setSize(value) {
  size.value = String(value);
  paintRange(size);
  // In pixels of the photo, as the other lengths are.
  form.querySelector("output[for=size]").value = `${Math.max(1, Math.round(value / stage.view.scale))} px`;
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
      if (!ready()) return;
      const number = session.editing.shadowAt(at);
      if (number) return toggle(number);
      if (compare.on || session.photo.finding) return;
      notes.show("There is no known shadow at this spot. If you see one, paint over it.", {
        action: ["Use the brush", () => setTool("brush")],
      });
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

form.addEventListener("change", (event) => event.target.name === "tool" && setTool(tool()));
size.addEventListener("input", () => setSize(Number(size.value)));

// What the buttons and keys do

function zoom(factor) {
  stage.view.zoomTo(stage.view.scale * factor);
  stage.moved();
}

function step(way) {
  const at = session.photos.indexOf(session.photo) + way;
  if (session.photos[at]) session.choose(session.photos[at]);
}

const actions = {
  open: () => $("#file").click(),
  close: () => session.photo && close(session.photo),
  previous: () => step(-1),
  next: () => step(1),
  undo: () => session.travel("undo"),
  redo: () => session.travel("redo"),
  download: () => saving.download(session.photo),
  "download-all": () => saving.downloadAll(session.photos),
  copy: () => saving.copy(session.photo),
  help: () => $("#help").showModal(),
  remove: () => session.remove(),
  refine: () => session.refine(),
  "remove-all": () => session.removeAll(),
  repeat: () => session.repeat(),
  keep: () => session.keep(),
  escape: () => (session.photo?.running ? session.keep() : notes.hide()),
  import: () => $("#maskfile").click(),
  export: () => exportMask(session.editing),
  last: () => ready() && session.last && (compare.set(false), session.editing.replace(session.last, "Last mask")),
  all: () => ready() && session.editing.present.length && (compare.set(false), session.editing.selectAll()),
  clear: () => ready() && !session.editing.empty && (compare.set(false), session.editing.clear()),
  pick: () => setTool("pick"),
  brush: () => setTool("brush"),
  eraser: () => setTool("eraser"),
  smaller: () => setSize(Math.round(Number(size.value) / 1.2)),
  larger: () => setSize(Math.ceil(Number(size.value) * 1.2)),
  compare: () => $("#compare").disabled || compare.set(!compare.on),
  closer: () => zoom(1.5),
  further: () => zoom(1 / 1.5),
  fit: () => (stage.view.fit(), stage.moved()),
  pixels: () => (stage.view.zoomTo(1 / stage.ratio), stage.moved()),
  zoom: () => (stage.view.fitted ? actions.pixels() : actions.fit()),
  move: (dx, dy) => (stage.view.panBy(dx, dy), stage.moved()),
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
  open: (files) => session.open(files),
  over: (hangs) => document.body.classList.toggle("dropping", hangs),
});
$("#maskfile").addEventListener("change", async ({ target }) => {
  const [file] = target.files;
  target.value = "";
  if (!file || !ready()) return;
  compare.set(false);
  const problem = await importMask(session.editing, file);
  if (problem) notes.show(problem, { kind: "trouble" });
});

// What is shown

stage.addEventListener("move", () => {
  const percent = `${Math.round(100 * stage.view.scale * stage.ratio)} %`;
  $("#zoom").textContent = percent;
  $("#zoom").ariaLabel = `Zoom ${percent}: fit to window, or actual pixels`;
  setSize(Number(size.value));
});
session.addEventListener("photos", () => {
  controls.setScale(session.editing?.photo.scale ?? 1);
  setTool("pick");
});
session.addEventListener("found", () => {
  const { photo, editing } = session;
  if (photo.finding || photo.unknown || editing.labels) return;
  notes.show("No shadow found. Paint over a shadow to select it.", { action: ["Use the brush", () => setTool("brush")] });
});
session.addEventListener("nothing", () => {
  if (session.editing.present.length) {
    return notes.show("What is striped may not be a shadow, so it stays. Click what you want to remove.");
  }
  setTool("brush");
  notes.show("Paint over the shadow to remove.");
});

addEventListener("beforeunload", (event) => {
  if (session.photos.some((photo) => photo.unsaved || photo.running)) event.preventDefault();
});
addEventListener("pagehide", (event) => event.persisted || session.photos.forEach((photo) => photo.close()));

async function configure() {
  try {
    const { options, accept, formats, max_upload: most } = await api.settings();
    session.maxUpload = most;
    controls.configure(options);
    saving.configure(formats);
    $("#file").accept = accept;
  } catch (error) {
    if (error.code !== "gone") return notes.show(error.message, { kind: "trouble", action: ["Try again", configure] });
    await connection.wait(new AbortController().signal);
    configure();
  }
}

theme.listen($("#theme"));
setTool("pick");
setSize(Number(size.value));
drawStart($("#start"), (files) => session.open(files));
configure();
