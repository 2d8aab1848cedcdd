// Word clouds: the largest word in the middle, the others on a spiral where they fit. No chance in it: the same data
// give the same picture. Drawn as SVG text, so that it prints sharp.

const MOST_WORDS = 60;
const LEAST_OF_ROLE = 8;
const LONGEST_WORD = 26;
const SMALLEST_SIZE = 12;

/** A cloud with a switch to the table. */
function cloudOrTable(pattern, tables) {
  const frame = el("div", { class: "cloud" });
  const list = el("div", { class: "parts", hidden: true });
  const choices = ["Cloud", "Table"].map((name, k) =>
    el("button", { type: "button", "aria-pressed": String(k === 0) }, name),
  );
  choices.forEach((choice, k) =>
    choice.addEventListener("click", () => {
      choices.forEach((other) => other.setAttribute("aria-pressed", String(other === choice)));
      if (k === 1 && !list.hasChildNodes()) list.append(tables());
      frame.hidden = k === 1;
      list.hidden = k === 0;
    }),
  );
  // The frame has a width only after the card is in the page.
  queueMicrotask(() => {
    const cloud = drawCloud(pattern, frame.clientWidth || 560);
    const legendOfWords = cloudLegend(pattern, cloud.querySelectorAll(".word").length);
    const name = `the word cloud of pattern ${pattern.number}`;
    frame.append(figureOf(name, `pattern-${pattern.number}-cloud`, cloud, legendOfWords));
  });
  return [el("div", { class: "switch", role: "group", "aria-label": "Show words as" }, choices), frame, list];
}

function drawCloud(pattern, width) {
  const height = Math.round(Math.min(320, Math.max(200, width * 0.5)));
  const placed = layOut(wordsOf(pattern, width, height), width, height);
  // As high as the words need.
  const top = Math.min(height / 2, ...placed.map((word) => word.y - word.up)) - 6;
  const bottom = Math.max(height / 2, ...placed.map((word) => word.y + word.down)) + 6;
  const picture = svg("svg", {
    viewBox: `0 ${top} ${width} ${bottom - top}`,
    role: "img",
    "aria-label": `Words of pattern ${pattern.number}, larger where they set it apart more`,
  });
  for (const word of placed) picture.append(wordNode(word));
  return picture;
}

/** The strongest words, but some of every role, so that what a class adds is seen. */
function chosenOf(words) {
  const ofRole = new Map();
  const isAmongFirst = (word) => {
    const many = (ofRole.get(word.role) || 0) + 1;
    ofRole.set(word.role, many);
    return many <= LEAST_OF_ROLE;
  };
  const first = new Set(words.filter(isAmongFirst).slice(0, MOST_WORDS));
  const rest = words.filter((word) => !first.has(word)).slice(0, MOST_WORDS - first.size);
  const chosen = new Set([...first, ...rest]);
  return words.filter((word) => chosen.has(word));
}

/** The words that set the pattern apart most, strongest first, with the font size they get. */
function wordsOf(pattern, width, height) {
  const words = drawnParts(pattern).flatMap((part) =>
    part.items.map((item, k) => ({
      item,
      role: part.role,
      hits: sum(part.hits.map((hits) => hits[k])),
      strength: Math.max(...(part.owners || [part]).map((owner) => strengthIn(owner, item))),
    })),
  );
  words.sort((a, b) => b.strength - a.strength || a.item - b.item);
  const once = chosenOf(words.filter((word, k) => words.findIndex((other) => other.item === word.item) === k));
  const most = Math.max(...once.map((word) => word.strength)) || 1;
  const least = Math.min(most, ...once.map((word) => word.strength));
  // Areas follow the strength; where all are alike, so are the sizes.
  const scale = (strength) => Math.sqrt(strength / most);
  const low = Math.min(scale(least), 0.6);
  // Shapes tell roles apart where there are several.
  const marked = new Set(once.map((word) => word.role)).size > 1;
  for (const word of once) {
    const name = [...itemName(word.item)];
    word.text = name.length > LONGEST_WORD ? `${name.slice(0, LONGEST_WORD - 1).join("")}…` : name.join("");
    word.weight = (scale(word.strength) - low) / (1 - low);
    word.marked = marked && word.role >= 0;
  }
  const largest = largestSize(once, width, height);
  for (const word of once) word.size = Math.round(SMALLEST_SIZE + word.weight * (largest - SMALLEST_SIZE));
  return once;
}

/** Strength of an item in a part; the parts of several classes have the same items, each in its own order. */
const strengthIn = (part, item) => part.strength[part.items.indexOf(item)] ?? 0;

/** The largest font with which the words, at about 0.6 em a letter, take less than half of the area. */
function largestSize(words, width, height) {
  for (let largest = Math.min(48, width / 9); largest > 14; largest -= 2) {
    const sizes = words.map((word) => SMALLEST_SIZE + word.weight * (largest - SMALLEST_SIZE));
    const area = sum(words.map((word, k) => 0.6 * (word.text.length + 1) * sizes[k] ** 2));
    if (area < 0.5 * width * height) return largest;
  }
  return 14;
}

/** Give each word a place; words for which there is none are left to the table. */
function layOut(words, width, height) {
  const font = getComputedStyle(document.body).fontFamily;
  const placed = [];
  for (const word of words) {
    pen.font = `600 ${word.size}px ${font}`;
    const box = pen.measureText(word.text);
    word.shape = word.marked ? word.size * 0.55 : 0;
    word.width = box.width + word.shape;
    word.up = box.actualBoundingBoxAscent;
    word.down = box.actualBoundingBoxDescent;
    if (findPlace(word, placed, width, height)) placed.push(word);
  }
  return placed;
}

function findPlace(word, placed, width, height) {
  const flat = height / width;
  for (let turn = 0; turn < 120; turn += 0.12) {
    const reach = (turn / 120) * width * 0.7;
    word.x = width / 2 + reach * Math.cos(turn) - word.width / 2;
    word.y = height / 2 + reach * flat * Math.sin(turn) + (word.up - word.down) / 2;
    const inside =
      word.x >= 2 && word.x + word.width <= width - 2 && word.y - word.up >= 2 && word.y + word.down <= height - 2;
    if (inside && !placed.some((other) => overlap(word, other))) return true;
  }
  return false;
}

function overlap(a, b) {
  const gap = 4;
  return (
    a.x < b.x + b.width + gap &&
    b.x < a.x + a.width + gap &&
    a.y - a.up < b.y + b.down + gap &&
    b.y - b.up < a.y + a.down + gap
  );
}

function wordNode(word) {
  const owner = word.role < 0 ? "common" : classes[word.role].name;
  const group = svg(
    "g",
    { class: "word role", "--role": colourOf(word.role) },
    svg(
      "title",
      {},
      `${itemName(word.item)}: ${owner}, strength ${figure(word.strength)}, in ${plural(word.hits, "row")} that ` +
        `${agree(word.hits, "uses", "use")} the pattern`,
    ),
  );
  if (word.marked) {
    const scale = word.size * 0.04;
    const middle = word.y - word.size * 0.27;
    group.append(
      svg("path", {
        d: shapeOf(word.role),
        transform: `translate(${word.x + word.size * 0.22} ${middle}) scale(${scale})`,
      }),
    );
  }
  group.append(svg("text", { x: word.x + word.shape, y: word.y, "font-size": word.size }, word.text));
  return group;
}

/** What size and colours mean here, and how many words there are of each. */
function cloudLegend(pattern, drawn) {
  const left = pattern.size - drawn;
  return legend(
    legendEntry(null, "Size: ", term("how much the word sets the pattern apart", EXPLAINED.strength)),
    partEntries(pattern),
    left > 0 ? `${plural(left, "word")} not drawn` : null,
  );
}
