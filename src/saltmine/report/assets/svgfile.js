// A figure of the page as a complete SVG file: boxes, bars and texts as they lie on the screen, colours and fonts
// written out. No HTML is left in it, so that every program that draws SVG shows the same.

const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });

/** The text of the file, and its size. */
function svgFile(frame, title) {
  frame.classList.add("exporting");
  try {
    const shapes = shapesOf(frame);
    const boxes = [frame.getBoundingClientRect(), ...shapes.map((shape) => shape.box)];
    const left = Math.min(...boxes.map((box) => box.left)) - 12;
    const top = Math.min(...boxes.map((box) => box.top)) - 12;
    const width = Math.ceil(Math.max(...boxes.map((box) => box.right)) + 12 - left);
    const height = Math.ceil(Math.max(...boxes.map((box) => box.bottom)) + 12 - top);
    const root = svg("svg", {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      "font-family": getComputedStyle(document.body).fontFamily,
    });
    const moved = svg("g", { transform: `translate(${rounded(-left)} ${rounded(-top)})` });
    moved.append(...shapes.map((shape) => shape.node));
    root.append(svg("title", {}, title), svg("rect", { width, height, ...paint("fill", paperOf(frame)) }), moved);
    return { text: wellFormed(new XMLSerializer().serializeToString(root)), width, height };
  } finally {
    frame.classList.remove("exporting");
  }
}

const NOT_IN_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

/** Names may hold letters that XML cannot. */
function wellFormed(text) {
  const whole = text.toWellFormed ? text.toWellFormed() : text;
  return `<?xml version="1.0" encoding="UTF-8"?>\n${whole.replace(NOT_IN_XML, "")}\n`;
}

const rounded = (value) => Math.round(100 * value) / 100;

// ---------------------------------------------------------------- colours

const paints = new Map();

/** Red, green, blue and opacity of any colour that style sheets know. */
function channelsOf(colour) {
  if (!paints.has(colour)) {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    paints.set(colour, [...pen.getImageData(0, 0, 1, 1).data]);
  }
  return paints.get(colour);
}

/** Attributes for a colour: fill or stroke, and its opacity. */
function paint(name, colour) {
  if (!colour || colour === "none") return { [name]: "none" };
  const [red, green, blue, alpha] = channelsOf(colour);
  const hex = [red, green, blue].map((part) => part.toString(16).padStart(2, "0")).join("");
  return alpha < 255 ? { [name]: `#${hex}`, [`${name}-opacity`]: rounded(alpha / 255) } : { [name]: `#${hex}` };
}

/** The paper behind a figure. */
function paperOf(node) {
  for (; node; node = node.parentElement) {
    const colour = getComputedStyle(node).backgroundColor;
    if (channelsOf(colour)[3] === 255) return colour;
  }
  return "white";
}

// ---------------------------------------------------------------- shapes

/** Everything that is drawn in an element, in the order of drawing: nodes and their boxes on the screen. */
function shapesOf(node) {
  if (node.nodeType === Node.TEXT_NODE) return textShapes(node);
  if (node.nodeType !== Node.ELEMENT_NODE || isUndrawn(node)) return [];
  const box = node.getBoundingClientRect();
  if (node instanceof SVGSVGElement) return box.width ? [{ node: pictureCopy(node, box), box }] : [];
  if (node instanceof HTMLCanvasElement) return [{ node: imageOf(node, box), box }];
  return [...boxShapes(node, box), ...[...node.childNodes].flatMap(shapesOf)];
}

const isUndrawn = (node) => node.matches("[data-no-export], .unseen, [hidden]") || !node.getClientRects().length;

/** Background and borders of an element. */
function boxShapes(node, box) {
  const style = getComputedStyle(node);
  const shapes = [];
  const add = (left, top, width, height, colour, radius = 0) => {
    if (width <= 0 || height <= 0 || !channelsOf(colour)[3]) return;
    const [x, y, w, h] = [left, top, width, height].map(rounded);
    const place = { x, y, width: w, height: h, rx: radius || null };
    shapes.push({ node: svg("rect", { ...place, ...paint("fill", colour) }), box: new DOMRect(x, y, w, h) });
  };
  add(box.left, box.top, box.width, box.height, style.backgroundColor, parseFloat(style.borderTopLeftRadius));
  const side = (name) => (style[`border${name}Style`] === "solid" ? parseFloat(style[`border${name}Width`]) : 0);
  add(box.left, box.top, side("Left"), box.height, style.borderLeftColor);
  add(box.right - side("Right"), box.top, side("Right"), box.height, style.borderRightColor);
  add(box.left, box.top, box.width, side("Top"), style.borderTopColor);
  add(box.left, box.bottom - side("Bottom"), box.width, side("Bottom"), style.borderBottomColor);
  return shapes;
}

const KEPT = ["font-size", "font-weight", "stroke-width", "vector-effect", "fill-rule"];

/** A copy of a drawing at its place, with the colours that the style sheet gives it. */
function pictureCopy(node, box) {
  const copy = styledCopy(node);
  const place = { x: box.left, y: box.top, width: box.width, height: box.height };
  for (const [name, value] of Object.entries(place)) copy.setAttribute(name, rounded(value));
  return copy;
}

function styledCopy(node) {
  if (node.nodeType !== Node.ELEMENT_NODE) return node.cloneNode();
  const copy = node.cloneNode(false);
  for (const name of ["class", "style", "role", "aria-label", "aria-hidden"]) copy.removeAttribute(name);
  if (node.tagName !== "title") {
    const style = getComputedStyle(node);
    const kept = Object.fromEntries(KEPT.map((name) => [name, style.getPropertyValue(name)]));
    fill(copy, { ...kept, ...paint("fill", style.fill), ...paint("stroke", style.stroke) }, []);
  }
  copy.append(...[...node.childNodes].map(styledCopy));
  return copy;
}

function imageOf(canvas, box) {
  const place = { x: box.left, y: box.top, width: box.width, height: box.height };
  return svg("image", { ...place, href: canvas.toDataURL("image/png"), preserveAspectRatio: "none" });
}

// ---------------------------------------------------------------- texts

/** Every line of a text as it is broken on the screen. */
function textShapes(text) {
  const style = getComputedStyle(text.parentElement);
  const upright = style.writingMode.startsWith("vertical");
  pen.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  const ascent = pen.measureText("x").fontBoundingBoxAscent;
  const look = { "font-size": style.fontSize, "font-weight": style.fontWeight, ...paint("fill", style.color) };
  return linesOf(text, upright).map(({ letters, box }) => {
    // Upright texts read from bottom to top.
    const place = upright
      ? { transform: `translate(${rounded(box.left + ascent)} ${rounded(box.bottom)}) rotate(-90)` }
      : { x: rounded(box.left), y: rounded(box.top + ascent) };
    return { node: svg("text", { ...place, ...look }, letters), box };
  });
}

function linesOf(text, upright) {
  const lines = [];
  const range = document.createRange();
  const clip = clipOf(text.parentElement);
  let end = 0;
  for (const letter of text.data) {
    range.setStart(text, end);
    range.setEnd(text, (end += letter.length));
    const box = range.getBoundingClientRect();
    if (clip && isOutside(box, clip)) {
      if (lines.length && !lines.at(-1).letters.endsWith("…")) lines.at(-1).letters += "…";
      break;
    }
    const start = upright ? box.left : box.top;
    const line = lines.at(-1);
    if (line && Math.abs(start - line.start) < 2) {
      line.letters += letter;
      line.box = around(line.box, box);
    } else if (box.width && box.height && letter.trim()) lines.push({ letters: letter, box, start });
  }
  return lines.map((line) => ({ ...line, letters: line.letters.replace(/\s+/g, " ").trimEnd() }));
}

/** The box beyond which a text is cut. */
function clipOf(node) {
  for (; node && !node.classList.contains("exporting"); node = node.parentElement)
    if (getComputedStyle(node).overflowX === "hidden") return node.getBoundingClientRect();
  return null;
}

/** Whether a letter is cut; an ellipsis needs room, too. */
function isOutside(box, clip) {
  return box.width > 0 && (box.top > clip.bottom - box.height / 2 || box.right > clip.right + 1);
}

function around(one, two) {
  if (!two.width || !two.height) return one;
  const [left, top] = [Math.min(one.left, two.left), Math.min(one.top, two.top)];
  return new DOMRect(left, top, Math.max(one.right, two.right) - left, Math.max(one.bottom, two.bottom) - top);
}
