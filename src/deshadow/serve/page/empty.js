// The page before a photo is open: a drawn shadow, and examples to try.

import { asFile, draw, EXAMPLES } from "./examples.js";
import { branch, random } from "./silhouettes.js";

const calm = () => new Promise((resolve) => (window.requestIdleCallback ?? setTimeout)(resolve));

function drawShade(canvas) {
  const { clientWidth: width, clientHeight: height } = canvas;
  if (!width) return;
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d");
  // In a narrow window the text is at the bottom, and the shadow stays above it.
  const unit = width < 760 ? 0.62 * height : Math.max(height, width * 0.6);
  context.translate(width, width < 760 ? -0.08 * unit : 0);
  context.scale(unit, unit);
  branch(context, random(14), 0.12, 0.1, 2.7, 0.78, 0.022);
  if (width >= 760) branch(context, random(4), 0.1, 0.66, 3.3, 0.5, 0.016);
}

/** Fill the section; `open(file)` is called with the example that was chosen. */
export async function drawEmpty(section, open) {
  const shade = section.querySelector(".shade");
  new ResizeObserver(() => drawShade(shade)).observe(shade);
  const list = section.querySelector(".examples");
  const thumbs = EXAMPLES.map((example) => {
    const button = document.createElement("button");
    const canvas = document.createElement("canvas");
    const title = document.createElement("span");
    button.type = "button";
    button.className = "example";
    button.dataset.example = example.name;
    button.setAttribute("aria-label", `Example: ${example.title}`);
    title.textContent = example.title;
    button.append(canvas, title);
    button.addEventListener("click", async () => open(await asFile(example)));
    list.append(button);
    return [example, canvas];
  });
  // One after another while the browser is idle, so that the page itself appears first.
  for (const [example, canvas] of thumbs) {
    await calm();
    const small = draw(example, 0.24);
    canvas.width = small.width;
    canvas.height = small.height;
    canvas.getContext("2d").drawImage(small, 0, 0);
  }
}
