// One card per pattern. Bodies are drawn when they come into view, all of them before printing.

const cards = [];

// Cards that are drawn with the page; the others are drawn two screens before they are reached.
const FIRST_CARDS = 12;

function makeCards() {
  for (const pattern of data.patterns) cards.push(makeCard(pattern));
  byId("cards").append(...cards.map((card) => card.node));
  if (data.left_out) byId("cards").after(el("p", { class: "lead" }, leftOutText()));
  const cardOf = new Map(cards.map((card) => [card.node, card]));
  const watcher = new IntersectionObserver(
    (seen) => seen.filter((entry) => entry.isIntersecting).forEach((entry) => drawCard(cardOf.get(entry.target))),
    { rootMargin: "200%" },
  );
  for (const card of cards) watcher.observe(card.node);
  for (const card of cards.slice(FIRST_CARDS)) card.node.classList.add("later");
  // Links lead to a card below the toolbar, which stays on top.
  new ResizeObserver(([{ target }]) =>
    document.documentElement.style.setProperty("--toolbar", `${target.offsetHeight}px`),
  ).observe(byId("toolbar"));
}

const leftOutText = () =>
  `${plural(data.left_out, "more pattern")} ${agree(data.left_out, "is", "are")} left out of this page; ` +
  "patterns.csv, which “saltmine fit” writes beside it, and model.patterns() have " +
  `${agree(data.left_out, "it", "them")}.`;

function makeCard(pattern) {
  const heading = el(
    "h3",
    { id: `heading-${pattern.number}` },
    el("span", { class: "number" }, `Pattern ${pattern.number}`),
    " ",
    headingNodes(pattern),
  );
  const found = el("p", { class: "found", hidden: true });
  const body = el("div", { class: "card-body" });
  const node = el(
    "article",
    {
      class: "card",
      id: `pattern-${pattern.number}`,
      "data-pattern": pattern.number,
      "aria-labelledby": heading.id,
      tabindex: "-1",
    },
    el("header", {}, heading, el("p", { class: "kind" }, kindNodes(pattern))),
    found,
    body,
  );
  return { pattern, node, found, body, drawn: false };
}

function drawCard(card) {
  if (card.drawn) return;
  card.drawn = true;
  card.body.append(
    el("div", { class: "card-facts" }, usageBars(card.pattern), trust(card.pattern), rowList(card.pattern)),
    contentOf(card.pattern),
  );
}

function drawAllCards() {
  cards.forEach(drawCard);
}

// ---------------------------------------------------------------- left: usage and trust

const FIRST_CLASSES = 8;

function usageBars(pattern) {
  const users = manyClasses ? usersOf(pattern) : everyClass;
  const bars = el("div", { class: "usage-bars" });
  const lines = shortList(bars, users.length, FIRST_CLASSES, (k) => usageBar(pattern, users[k]), otherClasses(users));
  const key = legend(
    legendEntry(barSample(colourOf(-1)), "rows that use it"),
    pattern.carriers ? legendEntry(tickSample(), "rows that ", term("carry", EXPLAINED.carriers), " it") : null,
  );
  const name = `the bars of pattern ${pattern.number}`;
  const frame = figureOf(name, `pattern-${pattern.number}-usage`, lines, key);
  return el("section", {}, el("h4", {}, term("Used by", EXPLAINED.usage)), frame);
}

/** What the list of the classes leaves out. */
function otherClasses(users) {
  const more = users.length - FIRST_CLASSES;
  const idle = everyClass.filter((role) => !users.includes(role));
  const names = idle.map((role) => classes[role].name).join(", ");
  const unused = `${plural(idle.length, "class")} that ${agree(idle.length, "does", "do")} not`;
  if (more <= 0 && !idle.length) return null;
  return [
    more > 0 ? `and ${plural(more, "more class")}` : null,
    more > 0 && idle.length ? "; " : null,
    idle.length ? ["and ", term(unused, names)] : null,
  ].flat();
}

function usageBar(pattern, role) {
  const rows = classes[role].rows;
  const used = pattern.usage[role];
  const carriers = pattern.carriers ? pattern.carriers[role] : null;
  const carried = `${plural(carriers, "row")} ${agree(carriers, "carries", "carry")} it`;
  const bar = el(
    "span",
    { class: "bar" },
    el("span", { class: "bar-fill role", "--role": roleColour(role), "--share": used / rows }),
    carriers === null ? null : el("span", { class: "bar-tick", "--share": carriers / rows, title: carried }),
  );
  const text = used
    ? `${count(used)} of ${plural(rows, "row")}, ${percent(used / rows)}`
    : `none of ${plural(rows, "row")}`;
  const name = severalClasses ? className(role) : null;
  return el("div", { class: "usage-bar" }, name, bar, el("span", { class: "bar-text" }, text));
}

function trust(pattern) {
  const lines = [
    trustLine("Evidence", EXPLAINED.evidence, evidenceNodes(pattern.evidence)),
    trustLine("Gain", EXPLAINED.gain, pattern.gain === null ? "–" : [`${figure(pattern.gain)} `, nats()]),
  ];
  if (pattern.carriers) lines.push(trustLine("Carriers", EXPLAINED.carriers, carrierNodes(pattern)));
  if (pattern.all) {
    const [all, most] = [sum(pattern.all), sum(pattern.most)];
    lines.push(trustLine("All items", EXPLAINED.all, plural(all, "row")));
    lines.push(trustLine("Most items", EXPLAINED.most, plural(most, "row")));
  }
  if (data.refits)
    lines.push(
      trustLine(
        "Came back",
        EXPLAINED.stability,
        `in ${percent(pattern.stability)} of ${plural(data.refits, "refit")}`,
      ),
    );
  return el("section", {}, el("h4", {}, "How far to trust it"), el("dl", { class: "trust" }, lines));
}

function trustLine(label, explanation, value) {
  return [el("dt", {}, term(label, explanation)), el("dd", {}, value)];
}

/** The unit with its explanation. */
const nats = () => term("nats", EXPLAINED.nats);

function evidenceNodes(evidence) {
  if (evidence === null) return "–";
  return [`${figure(evidence)} `, nats(), ", ", el("span", { class: "nowrap" }, `p < ${chanceBelow(evidence)}`)];
}

function carrierNodes(pattern) {
  if (!severalClasses) return `${count(pattern.carriers[0])} of ${plural(classes[0].rows, "row")}`;
  const have = everyClass.filter((role) => pattern.carriers[role]);
  if (manyClasses)
    return `${plural(sum(pattern.carriers), "row")} of ${plural(have.length, "class")}`;
  if (!have.length) return "none";
  return have.flatMap((role, k) => [
    k ? ", " : "",
    el("span", { class: "nowrap", title: classes[role].name }, mark(role), ` ${count(pattern.carriers[role])}`),
  ]);
}
