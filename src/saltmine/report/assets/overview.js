// What was analysed, how far the patterns shorten it, and the map of patterns and classes.

function drawOverview() {
  const { with: length, without } = data.description;
  const saved = without > 0 ? Math.max(0, 1 - length / without) : 0;
  const figures = [
    headline(
      percent(saved),
      "shorter with patterns",
      "How much shorter the data can be written down with the patterns. Unrelated columns cannot be shortened.",
      [
        barLine("without", 1, `${count(Math.round(without))} nats`),
        barLine("with", 1 - saved, `${count(Math.round(length))} nats`),
      ],
    ),
    headline(percent(data.covered), "of all ones explained", "Ones in the cells that the model says are ones.", [
      barLine("ones", data.covered, `of ${count(Math.round(data.density * data.shape[0] * data.shape[1]))}`),
    ]),
  ];
  if (severalClasses) figures.push(classList());
  byId("overview").append(...figures);
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

function classList() {
  const reached = "Rows that use at least one pattern.";
  const lines = everyClass.map((role) =>
    el(
      "li",
      {},
      className(role),
      el(
        "span",
        { class: "bar-text" },
        `${plural(classes[role].rows, "row")}, ${percent(classes[role].reached / classes[role].rows)} with a pattern`,
      ),
    ),
  );
  return el(
    "div",
    { class: "headline" },
    el("p", {}, term("Classes", reached)),
    el("ul", { class: classes.length > 4 ? "class-list many" : "class-list" }, lines),
  );
}

/** Without patterns: which single items differ most. */
function differences() {
  const title = severalClasses ? "Single items that differ most between the classes" : "The most frequent items";
  const rows = data.differences.map((item) => {
    const name = typeof item.name === "number" ? `item ${item.name}` : item.name;
    const cells = everyClass.map((role) =>
      shareCell(
        role,
        item.counts[role] / classes[role].rows,
        null,
        `${count(item.counts[role])} of ${plural(classes[role].rows, "row")}`,
      ),
    );
    return el("tr", {}, el("th", { scope: "row" }, el("bdi", { class: "item" }, name)), cells);
  });
  const head = el(
    "tr",
    {},
    el("th", { scope: "col" }, "Item"),
    everyClass.map((role) => el("th", { scope: "col" }, className(role))),
  );
  return el(
    "section",
    { "aria-label": title },
    el("h2", {}, title),
    el(
      "p",
      { class: "lead" },
      "Share of the rows of a class that have the item. These are not tested: among many items, some differ by chance.",
    ),
    el("div", { class: "scroll" }, el("table", { class: "items" }, el("thead", {}, head), el("tbody", {}, rows))),
  );
}

// ---------------------------------------------------------------- map

function drawMap() {
  const most = data.patterns.reduce(
    (largest, pattern) => Math.max(largest, ...everyClass.map((role) => usageShare(pattern, role))),
    0,
  );
  if (!severalClasses) byId("map-title").textContent = "How often each pattern is used";
  byId("map-lead").append(
    severalClasses
      ? "Each cell: share of the class's rows that use the pattern. "
      : "Share of the rows that use the pattern. ",
    severalClasses ? "A badge such as +2 says that the class adds two items to the pattern. " : "",
    "Column heads sort, names lead to the pattern.",
  );
  const body = el(
    "tbody",
    {},
    data.patterns.map((pattern) => mapRow(pattern, most)),
  );
  byId("map-table").append(mapHead(body), body);
  byId("map-table").classList.toggle("many", classes.length > 8);
  byId("map-table").style.setProperty("--classes", classes.length);
}

function mapHead(body) {
  const columns = [
    { title: "Pattern", value: (pattern) => -pattern.number, class: "pattern-column" },
    { title: "Items", value: (pattern) => pattern.size, class: "amount-column" },
    ...everyClass.map((role) => ({
      title: severalClasses ? className(role) : "Rows",
      value: (pattern) => usageShare(pattern, role),
      class: "class-column",
    })),
  ];
  const heads = columns.map((column) => {
    const head = el("th", { scope: "col", class: column.class });
    const sort = () => {
      const rows = [...body.rows].sort(
        (a, b) => column.value(data.patterns[b.dataset.pattern]) - column.value(data.patterns[a.dataset.pattern]),
      );
      body.append(...rows);
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", "descending");
    };
    head.append(el("button", { type: "button", onclick: sort }, column.title));
    return head;
  });
  return el("thead", {}, el("tr", {}, heads));
}

function mapRow(pattern, most) {
  const drawn = data.layout && data.layout.kind === "pixels";
  const name = drawn ? pixelPicture(pattern) : headingNodes(pattern);
  const link = el(
    "a",
    { href: `#pattern-${pattern.number}` },
    el("span", { class: "number" }, pattern.number),
    " ",
    name,
  );
  const cells = everyClass.map((role) => mapCell(pattern, role, most));
  return el(
    "tr",
    { "data-pattern": pattern.number },
    el("th", { scope: "row", class: "pattern-column" }, link),
    el("td", { class: "amount" }, count(pattern.size)),
    cells,
  );
}

function mapCell(pattern, role, most) {
  const share = usageShare(pattern, role);
  const added = addedSize(pattern, role);
  const { name, rows } = classes[role];
  const text = `${count(pattern.usage[role])} of ${plural(rows, "row")} of ${name} (${percent(share)})`;
  return el(
    "td",
    {
      class: share ? "heat role" : "heat none",
      "--role": colourOf(severalClasses ? role : -1),
      "--heat": most ? share / most : 0,
      title: added ? `${text}; the class adds ${plural(added, "item")}` : text,
    },
    el("span", {}, share ? percent(share) : "·"),
    added ? el("span", { class: "added" }, `+${count(added)}`) : null,
  );
}
