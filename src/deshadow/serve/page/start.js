// The page before a photo is open: a photo before and after, and examples to try.

const EXAMPLES = [
  { file: "pavement.jpg", title: "Leaves on a pavement" },
  { file: "lawn.jpg", title: "Three people on a lawn" },
  { file: "page.jpg", title: "A hand over a page" },
];
const CAPTION = "Bricks of the scikit-image package (CC0) with a shadow drawn over them, and what this page makes of it.";

const address = (file) => `page/examples/${file}`;

/** Fill the section; `open(files)` is called with the example that was chosen. */
export function drawStart(section, open) {
  const pair = section.querySelector(".pair");
  const slider = pair.querySelector("input");
  const place = () => pair.style.setProperty("--at", `${slider.value}%`);
  slider.addEventListener("input", place);
  place();
  pair.querySelector("img.before").src = address("pavement.jpg");
  pair.querySelector("img.after").src = "page/pavement.deshadowed.jpg";
  section.querySelector("figcaption").textContent = CAPTION;
  section.querySelector(".examples").append(...EXAMPLES.map((example) => drawExample(example, open)));
}

function drawExample({ file, title }, open) {
  const button = document.createElement("button");
  const picture = document.createElement("img");
  const text = document.createElement("span");
  button.type = "button";
  button.className = "example";
  button.dataset.example = file.replace(/\..*/, "");
  button.setAttribute("aria-label", `Example: ${title}`);
  picture.src = address(file);
  picture.alt = "";
  text.textContent = title;
  button.append(picture, text);
  button.addEventListener("click", async () => {
    const blob = await (await fetch(address(file))).blob();
    open([new File([blob], file, { type: blob.type })]);
  });
  return button;
}
