// Light or dark: as the system has it, until the person chooses one.

import { recall, remember } from "./memory.js";

const system = matchMedia("(prefers-color-scheme: dark)");

/** Make a button switch between light and dark. */
export function listen(button) {
  let chosen = recall("theme");
  const apply = () => {
    const theme = chosen ?? (system.matches ? "dark" : "light");
    const other = theme === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    button.setAttribute("aria-label", `Switch to the ${other} theme`);
    button.title = `Switch to the ${other} theme`;
    document.querySelector("meta[name=theme-color]").content = getComputedStyle(document.body).backgroundColor;
  };
  button.addEventListener("click", () => {
    chosen = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    remember("theme", chosen);
    apply();
  });
  system.addEventListener("change", apply);
  apply();
}
