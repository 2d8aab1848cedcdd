// Which row uses which pattern, in the manner of an oncoplot: rows from left to right, class by class and ordered by
// the patterns they use; patterns from top to bottom, their shares at the right. A line of cells may stand for several
// rows. Names and shares are text; only the cells are a canvas, so that ten thousands of rows cost nothing.

const usage = data.usage;
const lineCount = usage ? sum(usage.lines) : 0;
let cells = null;

/** Share of the rows of a line that use the pattern at this position of the picture. */
function cellAt(line, position) {
  cells ??= bytesOf(usage.cells);
  return cells[line * usage.patterns.length + position] / 255;
}

/** Begin and end of every class in lines. */
function classSpans() {
  let begin = 0;
  return usage.lines.map((lines) => [begin, (begin += lines)]);
}

// ---------------------------------------------------------------- the frame around the cells

// Height of a pattern in pixels.
const usageStep = () => (usage.patterns.length > 30 ? 17 : 24);

function makeUsage() {
  byId("usage-lead").append(
    "Rows from left to right, class by class, ordered by the patterns they use, so that common combinations stand " +
      "side by side; patterns from top to bottom, the most frequent first" +
      (severalClasses ? ", after the shared ones those of each class. " : ". "),
    el("span", { class: "on-screen" }, "Point at a cell for names; a click leads to the pattern."),
  );
  const [rows, patterns] = [plural(data.shape[0], "row"), plural(usage.patterns.length, "pattern")];
  const canvas = el("canvas", {
    id: "usage-canvas",
    role: "img",
    "aria-label": `Usage of ${patterns} by ${rows}; the download below has the numbers.`,
  });
  const grid = el(
    "div",
    { class: "oncoplot", "--step": `${usageStep()}px`, "--patterns": usage.patterns.length },
    el("span", { class: "onco-head" }, "pattern"),
    el("span", { class: "onco-strip", id: "usage-strip" }),
    el("span", { class: "onco-head onco-share-head" }, "share of all rows"),
    el("ol", { class: "onco-names" }, usage.patterns.map(usageName)),
    canvas,
    el("ol", { class: "onco-shares" }, usageShareBars()),
  );
  const region = { tabindex: "0", role: "region", "aria-label": "Rows and patterns, scrolls" };
  const frame = el("div", { class: "onco-frame", ...region }, grid);
  byId("usage-figure").append(figureOf("the map of rows", "rows", usageLegend(), frame));
  watchPointer(canvas);
  watchUsage(canvas);
}

function usageLegend() {
  const several = usage.rows_per_line > 1;
  const look = { class: "sample onco-cell role", "aria-hidden": "true", "--role": colourOf(-1) };
  const cell = (share) => el("span", { ...look, "--share": share });
  const rows = plural(usage.rows_per_line, "row");
  const about = several
    ? legendEntry([cell(0.2), cell(1)], `a column: up to ${rows}; the darker, the more of them use the pattern`)
    : legendEntry(cell(1), "the row uses the pattern");
  const bars = severalClasses ? "rows that use it, by class" : "rows that use it";
  return legend(about, legendEntry(barSample(colourOf(-1)), bars), severalClasses ? classEntries() : null);
}

function usageName(number) {
  const pattern = byNumber.get(number);
  const name = el("bdi", {}, brief(headingText(pattern), 60));
  const link = el("a", { href: `#pattern-${number}` }, el("span", { class: "number" }, number), " ", name);
  return el("li", { title: headingText(pattern) }, link);
}

/** The share of all rows that use each pattern, and how much of it each class contributes. */
function usageShareBars() {
  const totals = usage.patterns.map((number) => sum(byNumber.get(number).usage));
  const most = Math.max(1, ...totals);
  return usage.patterns.map((number, position) => {
    const { usage: used } = byNumber.get(number);
    const piece = (role) =>
      el("span", { class: "onco-piece role", "--role": roleColour(role), "--share": used[role] / most });
    const bar = el("span", { class: "onco-bar" }, everyClass.filter((role) => used[role]).map(piece));
    const title = `${count(totals[position])} of ${plural(data.shape[0], "row")}`;
    return el("li", { title }, bar, el("span", { class: "onco-share" }, percent(totals[position] / data.shape[0])));
  });
}

// ---------------------------------------------------------------- drawing

/** Draw the cells before they are on the screen, and again when the window or the theme changes. */
function watchUsage(canvas) {
  const watcher = new IntersectionObserver((seen) => seen.some((entry) => entry.isIntersecting) && drawUsage(), {
    rootMargin: "200%",
  });
  const again = () => {
    watcher.unobserve(canvas);
    watcher.observe(canvas);
  };
  again();
  addEventListener("resize", again);
  addEventListener("themechange", again);
}

// Taller pictures are more than some browsers hold.
const MOST_HEIGHT = 16_000;

function drawUsage() {
  const canvas = byId("usage-canvas");
  const step = usageStep();
  const height = step * usage.patterns.length;
  const ratio = Math.min(devicePixelRatio || 1, MOST_HEIGHT / height);
  canvas.width = Math.max(1, Math.round(canvas.clientWidth * ratio));
  canvas.height = Math.round(height * ratio);
  const brush = canvas.getContext("2d");
  const narrow = narrowPicture(canvas.width);
  brush.imageSmoothingEnabled = false;
  range(usage.patterns.length).forEach((position) => {
    const y = Math.round((position * step + 1) * ratio);
    const across = Math.max(1, Math.round((step - 2) * ratio));
    brush.fillStyle = styleValue("--track");
    brush.fillRect(0, y, canvas.width, across);
    brush.drawImage(narrow, 0, position, canvas.width, 1, 0, y, canvas.width, across);
  });
  drawBorders(brush, canvas);
  drawStrip(canvas.clientWidth);
}

/** A line between two classes. */
function drawBorders(brush, canvas) {
  brush.fillStyle = styleValue("--paper");
  for (const [begin] of classSpans().slice(1)) {
    brush.fillRect(Math.round((begin / lineCount) * canvas.width), 0, 1, canvas.height);
  }
}

/** The strip of the classes, with their names where there is room. */
function drawStrip(width) {
  pen.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  const pieces = usage.lines.map((lines, role) => {
    const room = (lines / lineCount) * width;
    const { name, rows } = classes[role];
    const fits = pen.measureText(name).width + 20 < room;
    const label = !severalClasses || room < 12 ? null : fits ? className(role) : mark(role);
    return el(
      "span",
      { class: "onco-class", "--share": lines / lineCount, title: `${name}, ${plural(rows, "row")}` },
      label,
      el("span", { class: "onco-colour role", "--role": roleColour(role) }),
    );
  });
  byId("usage-strip").replaceChildren(...pieces);
}

/** The picture with one line of pixels per pattern: every pixel is the mean of the lines that fall on it. */
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

const styleValue = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Red, green and blue of a role on the canvas, lighter on dark paper. */
function inkOf(role) {
  const lighter = styleValue("--theme") === "dark" ? 0.25 : 0;
  const parts = [1, 3, 5].map((k) => parseInt(colourOf(role).slice(k, k + 2), 16));
  return parts.map((part) => Math.round(part + (255 - part) * lighter));
}

// ---------------------------------------------------------------- pointing at it

function watchPointer(canvas) {
  canvas.addEventListener("mousemove", (event) => {
    const spot = spotAt(canvas, event);
    if (!spot) return hideTip();
    showTip(spotText(spot), { left: event.clientX + 12, top: event.clientY, bottom: event.clientY + 8 });
  });
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
  const frame = canvas.getBoundingClientRect();
  const position = Math.floor((event.clientY - frame.top) / usageStep());
  const line = Math.floor(((event.clientX - frame.left) / frame.width) * lineCount);
  if (position < 0 || position >= usage.patterns.length || line < 0 || line >= lineCount) return null;
  const role = classSpans().findIndex(([begin, end]) => line >= begin && line < end);
  return { position, line, role, pattern: byNumber.get(usage.patterns[position]) };
}

function spotText({ position, line, role, pattern }) {
  const share = cellAt(line, position);
  const owner = severalClasses ? ` (${classes[role].name})` : "";
  const who = usage.rows
    ? `row ${nameOfLine(line)}${owner} ${share ? "uses" : "does not use"}`
    : `about ${plural(usage.rows_per_line, "row")}${owner}: ${percent(share)} use`;
  return [el("bdi", {}, who), el("br"), `pattern ${pattern.number}: `, el("bdi", {}, headingText(pattern))];
}
