// Asks before something is lost.

/** Show a question with buttons, given as { value: label }; returns the value that was chosen, "" for none. */
export function ask(dialog, title, text, answers) {
  dialog.querySelector("h2").textContent = title;
  dialog.querySelector("p").textContent = text;
  const row = dialog.querySelector(".answers");
  row.replaceChildren(
    ...Object.entries(answers).map(([value, label], index) => {
      const button = document.createElement("button");
      button.value = value;
      button.className = index ? "secondary" : "primary";
      button.textContent = label;
      return button;
    }),
  );
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(dialog.returnValue), { once: true }));
}
