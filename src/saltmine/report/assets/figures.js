// Figures, and the buttons that save them as SVG and PNG.

// Larger pictures are more than some browsers hold.
const MOST_PIXELS = 8000;

/** A figure with its buttons: a name for readers, the name of the file, and what it shows. */
function figureOf(name, file, ...content) {
  const frame = el("div", { class: "figure" }, content);
  frame.append(saveButtons(frame, name, file));
  return frame;
}

function saveButtons(frame, name, file) {
  const button = (format, make) => {
    const label = `Save ${name} as ${format}`;
    const saves = () => make(frame, name, file);
    return el("button", { type: "button", class: "quiet", "aria-label": label, onclick: saves }, format);
  };
  return el("p", { class: "save", "data-no-export": true }, "Save ", button("SVG", saveSvg), button("PNG", savePng));
}

function saveSvg(frame, name, file) {
  save(`${file}.svg`, "image/svg+xml", svgFile(frame, name).text);
}

function savePng(frame, name, file) {
  const { text, width, height } = svgFile(frame, name);
  const scale = Math.min(2, MOST_PIXELS / Math.max(width, height));
  const image = new Image();
  image.addEventListener("load", () => {
    const canvas = el("canvas", { width: Math.round(scale * width), height: Math.round(scale * height) });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => save(`${file}.png`, "image/png", blob));
  });
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
}
