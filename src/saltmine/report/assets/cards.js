// One card per pattern. Bodies are drawn when they come into view, all of them before printing.

const FIRST_SHOWN = 8;
const MANY_CLASSES = 5;
const cards = [];

function makeCards() {
  for (const pattern of data.patterns) cards.push(makeCard(pattern));
  byId("cards").append(...cards.map((card) => card.node));
  const watcher = new IntersectionObserver(
    (seen) => seen.filter((entry) => entry.isIntersecting).forEach((entry) => drawCard(cards[entry.target.dataset.pattern])),
    { rootMargin: "600px" },
  );
  for (const card of cards) watcher.observe(card.node);
}

function makeCard(pattern) {
  const heading = el("h3", { id: `heading-${pattern.number}` }, el("span", { class: "number" }, `Pattern ${pattern.number}`), " ", headingNodes(pattern));
  const found = el("p", { class: "found", hidden: true });
  const body = el("div", { class: "card-body" });
  const node = el(
    "article",
    { class: "card", id: `pattern-${pattern.number}`, "data-pattern": pattern.number, "aria-labelledby": heading.id, tabindex: "-1" },
    el("header", {}, heading, el("p", { class: "kind" }, kindNodes(pattern))),
    found,
    body,
  );
  return { pattern, node, found, body, drawn: false };
}

function drawCard(card) {
  if (card.drawn) return;
  card.drawn = true;
  card.body.append(el("div", { class: "card-facts" }, usageBars(card.pattern), trust(card.pattern)), contentOf(card.pattern));
}

function drawAllCards() {
  cards.forEach(drawCard);
}

// ---------------------------------------------------------------- left: usage and trust

function usageBars(pattern) {
  const lines = everyClass.map((role) => usageBar(pattern, role));
  return el("section", {}, el("h4", {}, term("Used by", EXPLAINED.usage)), lines);
}

function usageBar(pattern, role) {
  const rows = classes[role].rows;
  const used = pattern.usage[role];
  const carriers = pattern.carriers ? pattern.carriers[role] : null;
  const bar = el(
    "span",
    { class: "bar" },
    el("span", { class: "bar-fill role", "--role": colourOf(severalClasses ? role : -1), "--share": used / rows }),
    carriers === null ? null : el("span", { class: "bar-tick", "--share": carriers / rows, title: `${plural(carriers, "row")} with more than half of the items` }),
  );
  const text = used ? `${count(used)} of ${plural(rows, "row")}, ${percent(used / rows)}` : `none of ${plural(rows, "row")}`;
  if (classes.length > MANY_CLASSES) {
    return el("div", { class: "usage-bar compact", title: text }, className(role), bar, el("span", { class: "bar-text" }, percent(used / rows)));
  }
  return el("div", { class: "usage-bar" }, severalClasses ? className(role) : null, bar, el("span", { class: "bar-text" }, text));
}

function trust(pattern) {
  const lines = [
    trustLine("Evidence", EXPLAINED.evidence, evidenceNodes(pattern.evidence)),
    trustLine("Gain", EXPLAINED.gain, pattern.gain === null ? "–" : `${figure(pattern.gain)} nats`),
  ];
  if (pattern.carriers) lines.push(trustLine("Carriers", EXPLAINED.carriers, carrierNodes(pattern)));
  if (data.refits) lines.push(trustLine("Came back", EXPLAINED.stability, `in ${percent(pattern.stability)} of ${plural(data.refits, "refit")}`));
  return el("section", {}, el("h4", {}, "How far to trust it"), el("dl", { class: "trust" }, lines));
}

function trustLine(label, explanation, value) {
  return [el("dt", {}, term(label, explanation)), el("dd", {}, value)];
}

function evidenceNodes(nats) {
  return nats === null ? "–" : [`${figure(nats)} nats, `, el("span", { class: "nowrap" }, `p < ${chanceBelow(nats)}`)];
}

function carrierNodes(pattern) {
  if (!severalClasses) return `${count(pattern.carriers[0])} of ${plural(classes[0].rows, "row")}`;
  const have = everyClass.filter((role) => pattern.carriers[role]);
  if (classes.length > MANY_CLASSES) return `${plural(sum(pattern.carriers), "row")} of ${plural(have.length, "class")}`;
  if (!have.length) return "none";
  return have.flatMap((role, k) => [k ? ", " : "", el("span", { class: "nowrap", title: classes[role].name }, mark(role), ` ${count(pattern.carriers[role])}`)]);
}

// ---------------------------------------------------------------- right: the items

function contentOf(pattern) {
  const tables = () => pattern.parts.map((part) => partSection(part, pattern));
  if (data.kind === "words") return el("div", { class: "card-content" }, cloudOrTable(pattern, tables));
  const picture = data.layout ? pictureOf(pattern) : null;
  const list = el("div", { class: "parts" }, tables());
  const beside = data.layout && data.layout.kind === "pixels";
  return el("div", { class: beside ? "card-content beside" : "card-content" }, picture, list);
}

function partSection(part, pattern) {
  const numbers = [];
  if (part.role >= 0 && pattern.kind === "altered") {
    if (part.evidence !== null) numbers.push(term(`evidence ${figure(part.evidence)}`, EXPLAINED.evidence));
    if (part.gain !== null) numbers.push(term(`gain ${figure(part.gain)}`, EXPLAINED.gain));
    if (part.stability !== undefined && part.stability !== null) numbers.push(term(`came back ${percent(part.stability)}`, EXPLAINED.stability));
  }
  const head = el("div", { class: "part-head" }, el("h4", {}, partTitle(part, pattern)), numbers);
  return el("section", { class: "part role", "--role": colourOf(part.role) }, head, itemTable(part, pattern));
}

/** The items, strongest first. */
function itemTable(part, pattern) {
  const table = el("table", { class: classes.length > MANY_CLASSES ? "items many" : "items" });
  const body = el("tbody");
  const show = (many) => body.replaceChildren(...range(Math.min(many, part.items.length)).map((k) => itemRow(part, pattern, k)));
  show(FIRST_SHOWN);
  table.append(itemHead(part), body);
  return [el("div", { class: "scroll" }, table), moreOf(part, show)];
}

function itemHead(part) {
  const heads = everyClass.map((role) => el("th", { scope: "col", class: "share-head" }, headOf(role)));
  return el(
    "thead",
    {},
    el(
      "tr",
      {},
      el("th", { scope: "col" }, classes.length > MANY_CLASSES ? "support in %" : el("span", { class: "unseen" }, "Item")),
      heads,
      part.item_q_value ? el("th", { scope: "col", class: "share-head" }, term("q", EXPLAINED.q)) : null,
      part.item_stability ? el("th", { scope: "col", class: "share-head" }, term("back", EXPLAINED.stability)) : null,
    ),
  );
}

/** Head of a column of supports; of many classes, the mark has to do. */
function headOf(role) {
  if (!severalClasses) return "support";
  if (classes.length <= MANY_CLASSES) return className(role);
  return el("span", { title: classes[role].name }, mark(role), el("span", { class: "unseen" }, classes[role].name));
}

function itemRow(part, pattern, k) {
  const item = part.items[k];
  const cells = everyClass.map((role) => {
    const used = pattern.usage[role];
    const support = used ? part.hits[role][k] / used : null;
    const all = shareOf(item, role);
    const inAll = `${percent(all)} of all ${plural(classes[role].rows, "row")} have it`;
    const inUsers = used ? `${count(part.hits[role][k])} of the ${plural(used, "row")} that use the pattern have it; ` : "no row uses the pattern; ";
    return shareCell(role, support, all, `${classes[role].name}: ${inUsers}${inAll}`);
  });
  return el(
    "tr",
    {},
    el("th", { scope: "row" }, itemNode(item)),
    cells,
    part.item_q_value ? el("td", { class: "amount" }, probability(part.item_q_value[k])) : null,
    part.item_stability ? el("td", { class: "amount" }, percent(part.item_stability[k])) : null,
  );
}

/** A share as a bar behind its number; the tick is the share among all rows of the class. */
function shareCell(role, share, tick, title) {
  return el(
    "td",
    { class: "share role", "--role": colourOf(severalClasses ? role : -1), "--share": share || 0, title },
    el(
      "span",
      { class: "share-line" },
      el("span", { class: "share-bar" }, tick === null ? null : el("span", { class: "bar-tick", "--share": tick })),
      el("span", { class: "share-text" }, share === null ? "–" : shareText(share)),
    ),
  );
}

/** Of many classes there is room for whole numbers only. */
const shareText = (share) => (classes.length > MANY_CLASSES ? Math.round(100 * share) : percent(share));

/** "Show all" and how many items the page does not hold. */
function moreOf(part, show) {
  const hidden = part.size - part.items.length;
  const parts = [];
  if (part.items.length > FIRST_SHOWN) {
    const all = hidden ? `Show ${count(part.items.length)}` : `Show all ${count(part.items.length)}`;
    const button = el("button", { type: "button", class: "quiet", "aria-expanded": "false" }, all);
    button.addEventListener("click", () => {
      const open = button.getAttribute("aria-expanded") === "false";
      button.setAttribute("aria-expanded", open);
      button.textContent = open ? "Show fewer" : all;
      show(open ? Infinity : FIRST_SHOWN);
    });
    parts.push(button);
  }
  const left = part.size - Math.min(FIRST_SHOWN, part.items.length);
  if (left) parts.push(el("span", { class: "more" }, hidden ? `and ${plural(left, "more item")}, ${count(hidden)} of them only in patterns.csv` : `and ${plural(left, "more item")}`));
  return parts.length ? el("p", { class: "more-line" }, parts) : null;
}
