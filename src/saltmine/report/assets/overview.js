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
  if (data.differences.length) byId("overview").after(differences());
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

/** Without patterns: which single items differ most. */
function differences() {
  const title = severalClasses ? "Single items that differ most between the classes" : "The most frequent items";
  const lead =
    "Share of the rows of a class that have the item. These are not tested: among many items, some differ by chance.";
  const head = [
    el("th", { scope: "col" }, "Item"),
    everyClass.map((role) => el("th", { scope: "col", class: manyClasses ? "upright" : "share-head" }, headOf(role))),
  ];
  const table = el(
    "table",
    { class: manyClasses ? "items matrix" : "items" },
    el("thead", {}, el("tr", {}, head)),
    el("tbody", {}, data.differences.map(differenceRow)),
  );
  const frame = figureOf("the single items", "items", el("div", { class: "scroll", tabindex: "0" }, table));
  return el("section", { "aria-label": title }, el("h2", {}, title), el("p", { class: "lead" }, lead), frame);
}

function differenceRow(item) {
  const name = typeof item.name === "number" ? `item ${item.name}` : item.name;
  const cells = everyClass.map((role) => {
    const { rows } = classes[role];
    const support = item.counts[role] / rows;
    const text = `${classes[role].name}: ${count(item.counts[role])} of ${plural(rows, "row")}`;
    return manyClasses ? matrixCell(role, { support, text }) : shareCell(roleColour(role), support, null, text);
  });
  return el("tr", {}, el("th", { scope: "row" }, el("bdi", { class: "item" }, name)), cells);
}
