// The sliders and the seed: ranges and defaults come from the server.

export const NAMES = ["dilate", "feather", "strength", "steps", "seed"];

// The server counts lengths in pixels of the reduced picture that the network sees; a person in those of the photo.
const length = (value, scale) => (value ? `${Math.max(1, Math.round(value * scale))} px` : "off");

const SHOWN = {
  dilate: length,
  feather: length,
  strength: (value) => `${Math.round(100 * value)} %`,
  steps: String,
};

export class Controls {
  /** `onChange(name)` hears of every change, while a slider is dragged too. */
  constructor(form, onChange) {
    this.form = form;
    this.onChange = onChange;
    this.scale = 1;
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", (event) => {
      if (!NAMES.includes(event.target.name)) return;
      this.label(event.target.name);
      onChange(event.target.name);
    });
    form.addEventListener("dblclick", (event) => {
      const name = event.target.name;
      if (name in SHOWN && this.defaults) this.set(name, this.defaults[name]);
    });
    form.elements.seed.addEventListener("change", ({ target }) => {
      const value = Math.round(Number(target.value));
      target.value = String(Math.min(Number(target.max), Math.max(0, Number.isFinite(value) ? value : 0)));
    });
  }

  /** Take over `options` of the server's settings. */
  configure(options) {
    this.defaults = {};
    for (const name of NAMES) {
      const input = this.form.elements[name];
      const { default: value, minimum, maximum, step } = options[name];
      input.min = minimum;
      input.max = maximum;
      input.step = step;
      this.defaults[name] = value;
      this.set(name, value);
    }
  }

  /** Pixels of the photo for one that the network sees. */
  setScale(scale) {
    this.scale = scale;
    NAMES.forEach((name) => this.label(name));
  }

  set(name, value) {
    this.form.elements[name].value = String(value);
    this.label(name);
    this.onChange(name);
  }

  get(name) {
    return Number(this.form.elements[name].value);
  }

  get values() {
    return Object.fromEntries(NAMES.map((name) => [name, this.get(name)]));
  }

  label(name) {
    const input = this.form.elements[name];
    if (input.type === "range") paintRange(input);
    if (!(name in SHOWN)) return;
    const text = SHOWN[name](this.get(name), this.scale);
    this.form.querySelector(`output[for=${name}]`).value = text;
    input.setAttribute("aria-valuetext", text);
  }
}

/** Tell the style sheet how far a slider is drawn out. */
export function paintRange(input) {
  const share = (Number(input.value) - Number(input.min)) / (Number(input.max) - Number(input.min) || 1);
  input.style.setProperty("--share", String(share));
}
