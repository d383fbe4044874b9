// The controls of the removal options, built from what the server declares: name, help, range, step and default.

// The server measures lengths at one size for all photos; the page shows them in pixels of the open photo.
const formatLength = (value, scale) => (value ? `${Math.max(1, Math.round(value * scale))} px` : "off");

const TITLES = { dilate: "Grow" };
const CHOICES = { low: "Low: clear shadows only", normal: "Normal", high: "High: finds more" };

const FORMATS = {
  dilate: formatLength,
  feather: formatLength,
  strength: (value) => `${Math.round(100 * value)} %`,
};
const format = (name, value, scale) => (FORMATS[name] ?? String)(value, scale);

export class Controls {
  /** `onChange(name)` is called at every change, also while a slider is dragged. */
  constructor(form, onChange) {
    this.form = form;
    this.onChange = onChange;
    this.scale = 1;
    this.inputs = {};
    this.choices = {}; // name → select
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", ({ target }) => {
      if (this.inputs[target.name] === target) this.label(target.name);
      else if (this.choices[target.name] !== target) return;
      onChange(target.name);
    });
    form.addEventListener("dblclick", ({ target }) => {
      if (target.type === "range" && this.inputs[target.name]) this.set(target.name, target.defaultValue);
    });
  }

  /** Build a slider for each number among `options` of the server's settings, and fill the lists of the page. */
  configure(options) {
    const sliders = this.form.querySelector(".sliders");
    sliders.replaceChildren();
    for (const [name, option] of Object.entries(options)) {
      const list = this.form.elements[name];
      if (option.choices && list) this.fill(list, option);
      if (!option.page || option.choices) continue;
      const label = buildSlider(name, option);
      this.inputs[name] = label.querySelector("input");
      sliders.append(label);
      this.label(name);
      this.onChange(name);
    }
  }

  fill(list, { help, default: value, choices }) {
    list.replaceChildren(...choices.map((choice) => new Option(CHOICES[choice] ?? choice, choice, choice === value)));
    list.value = value;
    list.labels[0].title = help;
    this.choices[list.name] = list;
  }

  /** Set how many pixels of the open photo a length of 1 stands for. */
  setScale(scale) {
    this.scale = scale;
    Object.keys(this.inputs).forEach((name) => this.label(name));
  }

  set(name, value) {
    this.inputs[name].value = String(value);
    this.label(name);
    this.onChange(name);
  }

  /** The value of an option; 0 before the controls are built. */
  get(name) {
    return Number(this.inputs[name]?.value ?? 0);
  }

  get values() {
    const numbers = Object.keys(this.inputs).map((name) => [name, this.get(name)]);
    const chosen = Object.values(this.choices).map(({ name, value }) => [name, value]);
    return Object.fromEntries([...numbers, ...chosen]);
  }

  label(name) {
    const input = this.inputs[name];
    paintRange(input);
    const text = format(name, this.get(name), this.scale);
    this.form.querySelector(`output[for=${name}]`).value = text;
    input.setAttribute("aria-valuetext", text);
  }
}

/** A label with the name of an option, its value and its slider. */
function buildSlider(name, { help, default: value, minimum, maximum, step }) {
  const label = document.createElement("label");
  const title = document.createElement("span");
  const input = document.createElement("input");
  label.htmlFor = input.id = input.name = name;
  label.title = help;
  title.textContent = TITLES[name] ?? name[0].toUpperCase() + name.slice(1);
  input.type = "range";
  input.min = minimum;
  input.max = maximum;
  input.step = step;
  input.defaultValue = value;
  const output = document.createElement("output");
  output.setAttribute("for", name);
  output.setAttribute("aria-live", "off");
  if (FORMATS[name] === formatLength) output.title = "In pixels of this photo";
  label.className = "slider";
  label.append(title, output, input);
  return label;
}

/** Tell the style sheet how far a slider is from its left end. */
export function paintRange(input) {
  const share = (Number(input.value) - Number(input.min)) / (Number(input.max) - Number(input.min) || 1);
  input.style.setProperty("--share", String(share));
}
