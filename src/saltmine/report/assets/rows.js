// Which rows use a pattern.

const FIRST_ROWS = 6;

/** The rows that use a pattern, by name or number; the page names only the first of many. */
function rowList(pattern) {
  const used = sum(pattern.usage);
  const title = data.rows.numbered ? "Rows that use it, counted from 0" : "Rows that use it";
  if (!used) return null;
  const { rows } = pattern;
  const rest = used > rows.length ? `of ${plural(used, "row")}; usage.csv of “saltmine fit” has all` : null;
  const list = el("ul", { class: "row-names" });
  const names = shortList(list, rows.length, FIRST_ROWS, (k) => rowName(rows[k]), rest);
  return el("section", {}, el("h4", {}, title), names);
}

function rowName(row) {
  const role = data.rows.classes[row];
  const owner = severalClasses ? classes[role].name : null;
  const mine = severalClasses ? [mark(role), " "] : [];
  return el("li", { title: owner }, mine, el("bdi", {}, data.rows.names[row]));
}
