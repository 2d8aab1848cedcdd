// The map of patterns and classes.

function drawMap() {
  if (!severalClasses) byId("map-title").textContent = "How often each pattern is used";
  byId("map-lead").append(
    severalClasses
      ? "Each cell: share of the class's rows that use the pattern. "
      : "Share of the rows that use the pattern. ",
    el("span", { class: "on-screen" }, "Column heads sort, names lead to the pattern."),
    data.left_out ? ` ${leftOutText()}` : "",
  );
  const most = data.patterns.reduce(
    (largest, pattern) => Math.max(largest, ...everyClass.map((role) => usageShare(pattern, role))),
    0,
  );
  const body = el(
    "tbody",
    {},
    data.patterns.map((pattern) => mapRow(pattern, most)),
  );
  const columns = mapColumns();
  const table = el("table", { id: "map-table", class: manyClasses ? "map many" : "map", "--classes": classes.length });
  table.append(mapHead(body, columns), body);
  const frame = el(
    "div",
    { class: "map-frame", tabindex: "0", role: "region", "aria-label": "Map of patterns and classes, scrolls" },
    table,
  );
  const sorting = manyClasses ? mapSorting(body, columns) : null;
  byId("map-figure").append(figureOf("the map", "map", mapLegend(most), sorting, frame));
}

function mapLegend(most) {
  const shades = [0, 0.5, 1].map((share) => legendEntry(shadeSample(share), percent(share * most)));
  return legend(
    legendEntry(null, "Shade: share of the rows"),
    shades,
    legendEntry("·", " no row"),
    severalClasses && data.patterns.some((pattern) => pattern.altered_by.length)
      ? legendEntry(el("span", { class: "added" }, "+2"), " the class adds 2 items to the pattern")
      : null,
  );
}

// ---------------------------------------------------------------- heads and sorting

function mapColumns() {
  const perClass = everyClass.map((role) => ({
    title: severalClasses ? className(role) : "Rows",
    text: classes[role].name,
    value: (pattern) => usageShare(pattern, role),
    class: "class-column",
  }));
  return [
    { title: "Pattern", text: "Number", value: (pattern) => -pattern.number, class: "pattern-column" },
    { title: "Items", text: "Items", value: (pattern) => pattern.size, class: "amount-column" },
    ...perClass,
  ];
}

function sortMap(body, column) {
  const valueOf = (row) => column.value(byNumber.get(Number(row.dataset.pattern)));
  body.append(...[...body.rows].sort((a, b) => valueOf(b) - valueOf(a)));
}

function mapHead(body, columns) {
  const heads = columns.map((column) => {
    const head = el("th", { scope: "col", class: column.class });
    const sort = () => {
      sortMap(body, column);
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", "descending");
    };
    head.append(el("button", { type: "button", onclick: sort }, column.title));
    return head;
  });
  return el("thead", {}, el("tr", {}, heads));
}

/** On a phone there is no room for the heads of many classes. */
function mapSorting(body, columns) {
  const options = columns.map((column, k) => el("option", { value: k }, column.text));
  const select = el("select", { id: "map-sort" }, options);
  select.addEventListener("change", () => sortMap(body, columns[select.value]));
  const label = el("label", { for: "map-sort" }, "Sort the map by ");
  return el("p", { class: "map-sorting", "data-no-export": true }, label, select);
}

// ---------------------------------------------------------------- rows

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
  const noun = agree(pattern.size, " item", " items");
  const idle = classes.length - usersOf(pattern).length;
  const rest = `and ${plural(idle, "class")} that ${agree(idle, "does", "do")} not use it`;
  return el(
    "tr",
    { "data-pattern": pattern.number },
    el("th", { scope: "row", class: "pattern-column" }, link),
    el("td", { class: "amount" }, count(pattern.size), el("span", { class: "phone" }, noun)),
    everyClass.map((role) => mapCell(pattern, role, most)),
    manyClasses && idle ? el("td", { class: "phone" }, rest) : null,
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
      "--role": roleColour(role),
      "--heat": most ? share / most : 0,
      title: added ? `${text}; the class adds ${plural(added, "item")}` : text,
    },
    // Beside its share on a phone, where there are no heads.
    share && manyClasses ? el("span", { class: "phone" }, className(role), " ") : null,
    el("span", {}, share ? percent(share) : "·"),
    added ? el("span", { class: "added" }, `+${count(added)}`) : null,
  );
}
