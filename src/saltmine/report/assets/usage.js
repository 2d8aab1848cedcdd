// Rows from left to right, class by class; patterns from top to bottom. A line of cells may stand for several rows.

const usage = data.usage;
const lineCount = usage ? sum(usage.lines) : 0;
let cells = null;

/** Share of the rows of a line that use the pattern at this position of the picture. */
function cellAt(line, position) {
  cells ??= bytesOf(usage.cells);
  return cells[line * usage.patterns.length + position] / 255;
}

/** Draw the picture as soon as it is near the screen, and again when the window or the theme changes. */
function watchUsage() {
  const canvas = byId("usage-canvas");
  const watcher = new IntersectionObserver((seen) => seen.some((entry) => entry.isIntersecting) && drawUsage(), {
    rootMargin: "400px",
  });
  const again = () => {
    watcher.unobserve(canvas);
    watcher.observe(canvas);
  };
  again();
  addEventListener("resize", again);
  addEventListener("themechange", again);
}

function drawUsage() {
  const canvas = byId("usage-canvas");
  const box = usageBox(canvas);
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(box.width * ratio);
  canvas.height = Math.round(box.height * ratio);
  const brush = canvas.getContext("2d");
  brush.scale(ratio, ratio);
  brush.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  drawBands(brush, box);
  drawCells(brush, box, ratio);
  drawLabels(brush, box);
}

/** Sizes of the picture: gutter for the labels, band of the classes, height of a pattern. */
function usageBox(canvas) {
  const width = canvas.clientWidth;
  const step = usageStep();
  const gutter = step < 11 ? 8 : width < 640 ? 34 : 220;
  return { width, step, gutter, top: BAND, across: width - gutter, height: usageHeight() };
}

const BAND = 26;
const usageStep = () => Math.max(4, Math.min(26, 460 / usage.patterns.length));
const usageHeight = () => Math.ceil(BAND + usageStep() * usage.patterns.length + 2);

/** Begin and end of every class in lines. */
function classSpans() {
  let begin = 0;
  return usage.lines.map((lines) => [begin, (begin += lines)]);
}

function drawBands(brush, box) {
  classSpans().forEach(([begin, end], role) => {
    const x = box.gutter + (begin / lineCount) * box.across;
    const width = ((end - begin) / lineCount) * box.across;
    brush.fillStyle = `rgb(${inkOf(severalClasses ? role : -1).join(" ")})`;
    brush.fillRect(x, box.top - 6, Math.max(1, width - 2), 4);
    if (!severalClasses || width < 14) return;
    brush.save();
    brush.translate(x + 6, 9);
    brush.fill(new Path2D(shapeOf(role)));
    brush.fillStyle = styleValue("--ink");
    brush.fillText(shortened(brush, classes[role].name, width - 18), 10, 4);
    brush.restore();
  });
}

/** Every device pixel across shows the mean of the lines that fall on it; whole pixels, so that no seams show. */
function drawCells(brush, box, ratio) {
  const columns = Math.max(1, Math.round(box.across * ratio));
  const narrow = narrowPicture(columns);
  const height = Math.max(1, Math.round((box.step - (box.step > 6 ? 1.5 : 0.5)) * ratio));
  brush.save();
  brush.setTransform(1, 0, 0, 1, 0, 0);
  brush.imageSmoothingEnabled = false;
  range(usage.patterns.length).forEach((position) => {
    const y = Math.round((box.top + position * box.step) * ratio);
    brush.drawImage(narrow, 0, position, columns, 1, Math.round(box.gutter * ratio), y, columns, height);
  });
  brush.restore();
}

/** The picture with one line of pixels per pattern. */
function narrowPicture(columns) {
  const image = new ImageData(columns, usage.patterns.length);
  classSpans().forEach(([begin, end], role) => {
    const first = Math.round((begin / lineCount) * columns);
    const last = Math.max(first + 1, Math.round((end / lineCount) * columns));
    const colour = inkOf(severalClasses ? role : -1);
    const lineAt = (x) => begin + Math.floor(((x - first) / (last - first)) * (end - begin));
    for (let x = first; x < Math.min(last, columns); x++) {
      const from = lineAt(x);
      const to = Math.max(from + 1, lineAt(x + 1));
      for (let position = 0; position < usage.patterns.length; position++) {
        const share = meanOf(from, to, position);
        if (share) image.data.set([...colour, 255 * (0.12 + 0.88 * share)], 4 * (position * columns + x));
      }
    }
  });
  const canvas = el("canvas", { width: columns, height: usage.patterns.length });
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

/** Mean share of lines at a position. */
function meanOf(from, to, position) {
  let share = 0;
  for (let line = from; line < to; line++) share += cellAt(line, position);
  return share / (to - from);
}

function drawLabels(brush, box) {
  if (box.step < 11) return;
  brush.fillStyle = styleValue("--ink");
  usage.patterns.forEach((number, position) => {
    const pattern = data.patterns[number];
    const y = box.top + (position + 0.5) * box.step + 3.5;
    brush.fillText(number, 0, y);
    if (box.gutter > 100) brush.fillText(shortened(brush, headingText(pattern), box.gutter - 36), 26, y);
  });
}

/** As much of a text as fits into a width. */
function shortened(brush, text, width) {
  let letters = [...text.slice(0, 200)];
  if (brush.measureText(text).width <= width) return text;
  while (letters.length && brush.measureText(`${letters.join("")}…`).width > width) letters.pop();
  return `${letters.join("")}…`;
}

const styleValue = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Red, green and blue of a role on the canvas, lighter on dark paper. */
function inkOf(role) {
  const lighter = styleValue("--theme") === "dark" ? 0.25 : 0;
  const parts = [1, 3, 5].map((k) => parseInt(colourOf(role).slice(k, k + 2), 16));
  return parts.map((part) => Math.round(part + (255 - part) * lighter));
}

// ---------------------------------------------------------------- pointing at it

function makeUsage() {
  const canvas = byId("usage-canvas");
  const [rows, patterns] = [plural(data.shape[0], "row"), plural(usage.patterns.length, "pattern")];
  canvas.setAttribute("aria-label", `Usage of ${patterns} by ${rows}; the download below has the numbers.`);
  byId("usage-lead").append(
    "Rows from left to right, ordered by class and by the patterns they use; patterns from top to bottom. ",
    usage.rows_per_line > 1
      ? `A column stands for up to ${count(usage.rows_per_line)} rows: the darker, the more of them use the pattern. `
      : "",
    el("span", { class: "on-screen" }, "Point at it for names; a click leads to the pattern."),
  );
  canvas.addEventListener("mousemove", (event) => {
    const spot = spotAt(canvas, event);
    if (!spot) return hideTip();
    showTip(spotText(spot), { left: event.clientX + 12, top: event.clientY, bottom: event.clientY + 8 });
  });
  canvas.style.height = `${usageHeight()}px`;
  watchUsage();
  canvas.addEventListener("mouseleave", hideTip);
  canvas.addEventListener("click", (event) => {
    const spot = spotAt(canvas, event);
    if (spot) location.hash = `#pattern-${spot.pattern.number}`;
  });
}

/** Name of the row that a line stands for, or its number in the data. */
const nameOfLine = (line) => (usage.names ? usage.names[line] : usage.rows[line]);

/** Line and pattern under the pointer. */
function spotAt(canvas, event) {
  const box = usageBox(canvas);
  const frame = canvas.getBoundingClientRect();
  const position = Math.floor((event.clientY - frame.top - box.top) / box.step);
  const line = Math.floor(((event.clientX - frame.left - box.gutter) / box.across) * lineCount);
  if (position < 0 || position >= usage.patterns.length || line < 0 || line >= lineCount) return null;
  const role = classSpans().findIndex(([begin, end]) => line >= begin && line < end);
  return { position, line, role, pattern: data.patterns[usage.patterns[position]] };
}

function spotText({ position, line, role, pattern }) {
  const share = cellAt(line, position);
  const owner = severalClasses ? ` (${classes[role].name})` : "";
  const who = usage.rows
    ? `row ${nameOfLine(line)}${owner} ${share ? "uses" : "does not use"}`
    : `about ${count(usage.rows_per_line)} rows${owner}: ${percent(share)} use`;
  return [el("bdi", {}, who), el("br"), `pattern ${pattern.number}: `, el("bdi", {}, headingText(pattern))];
}
