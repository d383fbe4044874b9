// Opens files that are dropped, pasted or chosen, and saves files.

const pictures = (files) => [...(files ?? [])].filter((file) => file.type.startsWith("image/") || file.size > 0);

/** `open(files)` is called with photos; `over(true)` and `over(false)` when a drag enters and leaves the page. */
export function listen({ input, open, over }) {
  input.addEventListener("change", () => {
    const files = [...input.files];
    // Without this, choosing the same file again would do nothing.
    input.value = "";
    if (files.length) open(files);
  });

  let depth = 0;
  const carries = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  addEventListener("dragenter", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    if (++depth === 1) over(true);
  });
  addEventListener("dragleave", (event) => {
    if (carries(event) && --depth === 0) over(false);
  });
  addEventListener("dragover", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = "copy";
  });
  addEventListener("drop", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    depth = 0;
    over(false);
    const files = pictures(event.dataTransfer.files);
    if (files.length) open(files);
  });
  addEventListener("paste", (event) => {
    const files = pictures(event.clipboardData?.files);
    if (!files.length) return;
    event.preventDefault();
    open(files);
  });
}

/** Download a file under this name. */
export function save(file, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
