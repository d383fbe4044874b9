// What the panel, the bar and the stage show of the session: texts, buttons, numbers, progress and hints.

import { recall, remember } from "./memory.js";

const $ = (selector) => document.querySelector(selector);
const buttons = (name) => document.querySelectorAll(`[data-do=${name}]`);
const plural = (count, one) => `${count} ${one}${count === 1 ? "" : "s"}`;
const set = (name, able) => buttons(name).forEach((button) => (button.disabled = !able));

export class Panel {
  constructor({ session, stage, compare, shadows, badges, strip }) {
    Object.assign(this, { session, stage, compare, shadows, badges, strip });
    for (const name of ["photos", "state", "found", "change", "picture"]) {
      session.addEventListener(name, () => this.update());
    }
    session.addEventListener("work", () => this.update());
    session.addEventListener("other", () => this.updateStrip());
    stage.addEventListener("compare", () => this.update());
    session.addEventListener("photos", () => this.showName());
  }

  update() {
    const { session, stage, compare } = this;
    const { photo, editing, state } = session;
    const ready = state === "ready";
    const result = ready && editing.result;
    const running = photo?.running ?? null;
    document.body.dataset.state = state;
    document.body.dataset.work = running ? (photo.refining ? "refining" : "removing") : "";
    set("remove", ready && (editing.present.length || !editing.empty || !running));
    set("refine", ready && photo.canRefine);
    set("import", ready);
    set("export", ready && !editing.empty);
    set("last", ready && session.last);
    set("undo", ready && (editing.history.canUndo || running));
    set("redo", ready && editing.history.canRedo && !running);
    set("repeat", result && !running);
    for (const name of ["download", "copy"]) set(name, result);
    $("#compare").disabled = $("#hold").disabled = !result;
    // What is not sure is no reason to draw over a finished result.
    const found = !compare.on || Boolean(ready && editing.sure.length);
    stage.shows = { found, tint: compare.on ? 0 : 1, mask: !compare.on };
    stage.later();
    this.badges.draw(ready && found ? editing : null);
    this.updateStrip();
    this.showWork(running);
    this.showMain(ready ? editing : null);
    $(".save").hidden = !result;
    $("#hint").hidden = !(ready && editing.present.length && !recall("hint") && !result);
    if (!ready) {
      $("#choice").textContent = "";
      return this.shadows.say(state === "opening" ? "Opening the photo…" : "");
    }
    if (editing.selected.size) remember("hint", "seen");
    this.shadows.draw(editing);
    this.shadows.say(this.describeFound(editing));
    $("#choice").textContent = this.describeChoice(editing);
  }

  updateStrip() {
    const { photos, photo } = this.session;
    this.strip.draw(photos, photo);
    set("remove-all", photos.some((each) => each.state === "ready" && !each.editing.result && !each.running));
    set("download-all", photos.some((each) => each.editing?.result));
  }

  showName() {
    const { photo } = this.session;
    if (!photo) {
      $("#name").textContent = "";
      document.title = "deshadow";
      return;
    }
    const { width, height } = photo.editing?.photo ?? {};
    $("#name").textContent = width ? `${photo.name} · ${width} × ${height}` : photo.name;
    document.title = `${photo.name} – deshadow`;
  }

  showWork(running) {
    const working = $(".working");
    const focused = working.contains(document.activeElement);
    working.hidden = !running;
    if (!running) {
      if (focused) $(".buttons .primary:not([hidden])")?.focus();
      return;
    }
    const { words, left, share } = running;
    const refining = running.run.mode === "removal";
    $("#words").textContent = words;
    $("#left").textContent = left;
    $("#progress").value = share;
    buttons("keep")[0].textContent = refining && running.work.windows ? "Stop and keep" : "Stop";
    this.stage.element.style.setProperty("--share", String(share));
  }

  /** The main button removes; after the last sure shadow it downloads. */
  showMain(editing) {
    const left = !editing || editing.sure.length || !editing.empty || !editing.result;
    const removing = buttons("remove")[0];
    const focused = document.activeElement === removing;
    removing.hidden = !left;
    $(".buttons [data-do=download]").hidden = Boolean(left);
    if (focused && !left) $(".buttons [data-do=download]").focus();
    const several = editing && (editing.selected.size || (editing.empty ? editing.sure.length : 1)) > 1;
    removing.querySelector("span").textContent = several ? "Remove shadows" : "Remove shadow";
    buttons("refine")[0].hidden = !editing?.result && !this.session.photo?.running;
    if (editing?.result) buttons("refine")[0].hidden = editing.result.run.mode !== "quick";
  }

  describeFound({ present, sure, instances, removed, leaving }) {
    const { finding, unknown } = this.session.photo;
    if (finding) return "Looking for shadows…";
    if (unknown) return "Shadow detection failed";
    if (!instances.length) return "No shadow found";
    if (!present.length) return leaving.size ? "" : "No shadow left";
    const unsure = present.length - sure.length;
    const doubt = unsure ? `, ${unsure === present.length ? "not" : `${unsure} not`} sure` : "";
    return `${plural(present.length, "shadow")} ${removed.size || leaving.size ? "left" : "found"}${doubt}`;
  }

  describeChoice({ selected, empty, present, sure, result }) {
    const { finding, running } = this.session.photo;
    const names = [...selected].sort((a, b) => a - b).join(", ");
    if (selected.size) return `Shadow${selected.size > 1 ? "s" : ""} ${names} will be removed`;
    if (!empty) return "The painted area will be removed";
    if (sure.length > 1) {
      const all = sure.length === 2 ? "both" : `all ${sure.length}`;
      return `None selected: ${sure.length < present.length ? `the ${sure.length} sure ones` : all} will be removed`;
    }
    if (sure.length) return `Shadow ${sure[0].number} will be removed`;
    if (finding || running) return "";
    if (present.length) return result ? "Click what is left to remove it too" : "Click what is striped to remove it";
    return result ? "All done. Paint over what is left, or download." : "Paint over a shadow";
  }
}
