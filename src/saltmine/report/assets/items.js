// What a card shows of the items of its pattern: a picture where there is one, and lists with support in every class.

const FIRST_SHOWN = 8;
const MANY_CLASSES = 5;

function contentOf(pattern) {
  const tables = () => drawnParts(pattern).map((part) => partSection(part, pattern));
  if (data.kind === "words") return el("div", { class: "card-content" }, cloudOrTable(pattern, tables));
  const picture = data.layout ? pictureOf(pattern) : null;
  const list = el("div", { class: "parts" }, tables());
  const beside = data.layout && data.layout.kind === "pixels";
  return el("div", { class: beside ? "card-content beside" : "card-content" }, picture, list);
}

function partSection(part, pattern) {
  const numbers = [];
  if (isAdded(part)) {
    if (part.evidence !== null) numbers.push(term(`evidence ${figure(part.evidence)}`, EXPLAINED.evidence));
    if (part.gain !== null) numbers.push(term(`gain ${figure(part.gain)}`, EXPLAINED.gain));
    if (part.stability != null) numbers.push(term(`came back ${percent(part.stability)}`, EXPLAINED.stability));
  }
  const tests = (part.owners || [part]).filter((owner) => owner.q_value !== null);
  if (tests.length) {
    const values = tests.map((owner) => probability(owner.q_value)).join(", ");
    numbers.push(term(`q ${values}`, EXPLAINED.q));
  }
  const head = el("div", { class: "part-head" }, el("h4", {}, partTitle(part)), numbers);
  return el("section", { class: "part role", "--role": colourOf(part.role) }, head, itemTable(part, pattern));
}

/** The items, strongest first. */
function itemTable(part, pattern) {
  const columns = classes.length + (part.item_stability ? 1 : 0);
  const crowd = classes.length > MANY_CLASSES ? " many" : columns > 3 ? " crowded" : "";
  const table = el("table", { class: `items${crowd}` });
  const body = el("tbody");
  const show = (many) =>
    body.replaceChildren(...range(Math.min(many, part.items.length)).map((k) => itemRow(part, pattern, k)));
  show(FIRST_SHOWN);
  table.append(itemHead(part), body);
  return [el("div", { class: "scroll" }, table), moreOf(part, show)];
}

function itemHead(part) {
  const head = (content) => el("th", { scope: "col", class: "share-head" }, content);
  const first = classes.length > MANY_CLASSES ? "support in %" : el("span", { class: "unseen" }, "Item");
  const heads = [
    el("th", { scope: "col" }, first),
    ...everyClass.map((role) => head(headOf(role))),
    part.item_stability ? head(term("back", EXPLAINED.stability)) : null,
  ];
  return el("thead", {}, el("tr", {}, heads));
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
    const inUsers = used
      ? `${count(part.hits[role][k])} of the ${plural(used, "row")} that use the pattern have it; `
      : "no row uses the pattern; ";
    return shareCell(role, support, all, `${classes[role].name}: ${inUsers}${inAll}`);
  });
  return el(
    "tr",
    {},
    el("th", { scope: "row" }, itemNode(item)),
    cells,
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
  const where = hidden ? `, ${count(hidden)} of them only in patterns.csv` : "";
  if (left) parts.push(el("span", { class: "more" }, `and ${plural(left, "more item")}${where}`));
  return parts.length ? el("p", { class: "more-line" }, parts) : null;
}
