// What the browser remembers from visit to visit. Some browsers keep nothing; then each visit is the first.

/** A remembered text, or null. */
export function recall(name) {
  try {
    return localStorage.getItem(`deshadow.${name}`);
  } catch {
    return null;
  }
}

export function remember(name, text) {
  try {
    localStorage.setItem(`deshadow.${name}`, text);
  } catch {
    // It then holds for this visit only.
  }
}
