// Tables made from what the page holds.

/** A cell of a csv file. Text that a spreadsheet would take for a formula gets an apostrophe in front. */
function csvCell(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "";
  if (typeof value === "number") return String(value);
  const harmless = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

const csvOf = (rows) => "\ufeff" + rows.map((row) => row.map(csvCell).join(",")).join("\r\n") + "\r\n";

/** The same columns as model.patterns() and patterns.csv. */
function patternsCsv() {
  const perClass = classes.flatMap(({ label }) => ["usage", "support", "share", "lift"].map((name) => `${name}_${label}`));
  const head = ["pattern", "item", "role", "kind", "evidence", "gain", "p_value", "q_value", ...(data.refits ? ["stability"] : []), ...perClass];
  const rows = data.patterns.flatMap((pattern) => pattern.parts.flatMap((part) => part.items.map((_, k) => patternsCsvRow(pattern, part, k))));
  return csvOf([head, ...rows]);
}

function patternsCsvRow(pattern, part, k) {
  const item = part.items[k];
  const figures = everyClass.flatMap((role) => {
    const used = pattern.usage[role];
    const support = used ? part.hits[role][k] / used : null;
    const share = shareOf(item, role);
    return [used, support, share, support === null || !share ? null : support / share];
  });
  const stability = data.refits ? [part.item_stability?.[k]] : [];
  return [pattern.number, data.items.names[item], roleText(part.role), part.kind, part.evidence, part.gain, part.item_p_value?.[k], part.item_q_value?.[k], ...stability, ...figures];
}

function roleText(role) {
  if (role < 0) return "common";
  const { label } = classes[role];
  return label === "common" ? "class common" : label;
}

/** One line per row of the data, in its order; of many rows, one line per group of them with the shares. */
function usageCsv() {
  const spans = classSpans();
  const one = usage.rows !== null;
  const columns = data.patterns.map((pattern) => usage.patterns.indexOf(pattern.number));
  const head = [one ? "row" : "rows", ...(usage.names ? ["name"] : []), ...(severalClasses ? ["class"] : []), ...data.patterns.map((pattern) => `pattern_${pattern.number}`)];
  const lines = range(lineCount).map((line) => {
    const role = spans.findIndex(([begin, end]) => line >= begin && line < end);
    const shares = columns.map((position) => (one ? Math.round(cellAt(line, position)) : Number(cellAt(line, position).toFixed(3))));
    return [one ? usage.rows[line] : rowsIn(line, spans[role], role), ...(usage.names ? [usage.names[line]] : []), ...(severalClasses ? [classes[role].label] : []), ...shares];
  });
  if (one) lines.sort((a, b) => a[0] - b[0]);
  return csvOf([head, ...lines]);
}

/** How many rows a line stands for: the last one of a class takes what is left. */
function rowsIn(line, [begin, end], role) {
  return line < end - 1 ? usage.rows_per_line : classes[role].rows - (end - 1 - begin) * usage.rows_per_line;
}

function save(name, type, text) {
  const link = el("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function makeDownloads() {
  const button = (label, name, type, make) => el("button", { type: "button", onclick: () => save(name, type, make()) }, label);
  const buttons = [button("Everything on this page (json)", "report.json", "application/json", () => byId("data").textContent)];
  if (usage) {
    buttons.unshift(button("Patterns (csv)", "patterns.csv", "text/csv", patternsCsv), button("Usage (csv)", "usage.csv", "text/csv", usageCsv));
  }
  byId("download-buttons").append(...buttons);
  const held = sum(data.patterns.flatMap((pattern) => pattern.parts.map((part) => part.items.length)));
  const all = sum(data.patterns.flatMap((pattern) => pattern.parts.map((part) => part.size)));
  const notes = [];
  if (held < all) notes.push(`The page holds the strongest ${data.limit} items of every pattern and role, ${count(held)} of ${count(all)} entries; patterns.csv, which “saltmine fit” writes beside this report, and model.patterns() have all.`);
  if (usage && usage.rows_per_line > 1) notes.push(`Usage is that of groups of up to ${plural(usage.rows_per_line, "row")}; model.usage_ has every row.`);
  byId("download-note").textContent = notes.join(" ");
}
