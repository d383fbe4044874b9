// The steps that can be undone and redone. An entry does not change after it was pushed.

const MOST = 200;

export class History {
  constructor(first) {
    this.entries = [first];
    this.at = 0;
  }

  get current() {
    return this.entries[this.at];
  }

  get canUndo() {
    return this.at > 0;
  }

  get canRedo() {
    return this.at < this.entries.length - 1;
  }

  push(entry) {
    this.entries.length = this.at + 1;
    this.entries.push(entry);
    // The first entry is the photo itself, and is never dropped.
    if (this.entries.length > MOST) this.entries.splice(1, 1);
    this.at = this.entries.length - 1;
  }

  /** Undo a step; returns its label. */
  undo() {
    const { label } = this.current;
    this.at--;
    return label;
  }

  /** Redo a step; returns its label. */
  redo() {
    this.at++;
    return this.current.label;
  }
}
