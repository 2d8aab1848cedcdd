// What was analysed, and how far the patterns shorten it.

function drawOverview() {
  const { with: length, without } = data.description;
  const saved = without > 0 ? Math.max(0, 1 - length / without) : 0;
  const figures = [
    headline(
      percent(saved),
      "shorter with patterns",
      "How much shorter the data can be written down with the patterns. Unrelated columns cannot be shortened.",
      [
        barLine("without", 1, [`${count(Math.round(without))} `, nats()]),
        barLine("with", 1 - saved, [`${count(Math.round(length))} `, nats()]),
      ],
    ),
    headline(percent(data.covered), "of all ones explained", "Ones in the cells that the model says are ones.", [
      barLine("ones", data.covered, `of ${count(Math.round(data.density * data.shape[0] * data.shape[1]))}`),
    ]),
  ];
  if (severalClasses) figures.push(classList());
  byId("overview").append(figureOf("the overview", "overview", el("div", { class: "overview-columns" }, figures)));
  if (data.frequent.length) byId("overview").after(frequentItems());
}

function headline(value, label, explanation, bars) {
  return el("div", { class: "headline" }, el("p", {}, el("strong", {}, value), " ", term(label, explanation)), bars);
}

function barLine(label, share, text) {
  const bar = el("span", { class: "bar" }, el("span", { class: "bar-fill", "--share": share }));
  return el(
    "div",
    { class: "bar-line" },
    el("span", { class: "bar-label" }, label),
    bar,
    el("span", { class: "bar-text" }, text),
  );
}

// Classes in the overview; those of many are opened on demand.
const CLASSES_IN_OVERVIEW = 12;

function classList() {
  const list = el("ul", { class: manyClasses ? "class-list many" : "class-list" });
  const more = classes.length - CLASSES_IN_OVERVIEW;
  const rest = more > 0 ? `and ${plural(more, "more class")}` : null;
  return el(
    "div",
    { class: manyClasses ? "headline wide" : "headline" },
    el("p", {}, term("Classes", "Their rows, and how many of them use at least one pattern.")),
    shortList(list, classes.length, CLASSES_IN_OVERVIEW, classLine, rest),
  );
}

function classLine(role) {
  const { rows, reached } = classes[role];
  const text = `${plural(rows, "row")}, ${percent(reached / rows)} with a pattern`;
  return el("li", {}, className(role), el("span", { class: "bar-text" }, text));
}

/** Without patterns and classes: the most frequent items. */
function frequentItems() {
  const head = [el("th", { scope: "col" }, "Item"), el("th", { scope: "col", class: "share-head" }, "all rows")];
  const table = el(
    "table",
    { class: "items" },
    el("thead", {}, el("tr", {}, head)),
    el("tbody", {}, data.frequent.map(frequentItem)),
  );
  const title = "The most frequent items";
  const frame = figureOf("the most frequent items", "items", el("div", { class: "scroll", tabindex: "0" }, table));
  return el("section", { "aria-label": title }, el("h2", {}, title), frame);
}

function frequentItem(item) {
  const name = typeof item.name === "number" ? `item ${item.name}` : item.name;
  const { rows } = classes[0];
  const text = `${count(item.count)} of ${plural(rows, "row")}`;
  const cell = shareCell(roleColour(0), item.count / rows, null, text);
  return el("tr", {}, el("th", { scope: "row" }, el("bdi", { class: "item" }, name)), cell);
}
