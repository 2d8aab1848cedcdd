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
  const counts = data.patterns.some((pattern) => pattern.all) ? ["all", "most"] : [];
  const perClass = classes.flatMap(({ label }) =>
    ["usage", ...counts, "support", "share", "lift"].map((name) => `${name}_${label}`),
  );
  const figures = ["evidence", "gain", "p_value", "q_value", ...(data.refits ? ["stability"] : [])];
  const rows = data.patterns.flatMap((pattern) =>
    pattern.parts.flatMap((part) => part.items.map((_, k) => patternsCsvRow(pattern, part, k))),
  );
  return csvOf([["pattern", "item", "role", "kind", ...figures, ...perClass], ...rows]);
}

function patternsCsvRow(pattern, part, k) {
  const item = part.items[k];
  const figures = everyClass.flatMap((role) => {
    const used = pattern.usage[role];
    const support = used ? part.hits[role][k] / used : null;
    const share = shareOf(item, role);
    const having = pattern.all ? [pattern.all[role], pattern.most[role]] : [];
    return [used, ...having, support, share, support === null || !share ? null : support / share];
  });
  const stability = data.refits ? [part.item_stability?.[k]] : [];
  return [
    pattern.number,
    data.items.names[item],
    roleText(part.role),
    part.kind,
    part.evidence,
    part.gain,
    part.p_value,
    part.q_value,
    ...stability,
    ...figures,
  ];
}

function roleText(role) {
  if (role < 0) return "common";
  const { label } = classes[role];
  return label === "common" ? "class common" : label;
}

/** One line per row of the data, in its order; of many rows, one line per group of them with the shares. */
function usageCsv() {
  const single = usage.rows !== null;
  const lines = classSpans().flatMap(([begin, end], role) =>
    range(end - begin).map((k) => {
      // The last line of a class takes the rows that are left.
      const left = classes[role].rows - k * usage.rows_per_line;
      const rows = single ? nameOfLine(begin + k) : Math.min(usage.rows_per_line, left);
      return [rows, ...(severalClasses ? [classes[role].label] : []), ...usageShares(begin + k)];
    }),
  );
  const inOrder = single ? range(lines.length).sort((a, b) => usage.rows[a] - usage.rows[b]) : range(lines.length);
  const patterns = data.patterns.map(({ number }) => `pattern_${number}`);
  const head = [single ? "row" : "rows", ...(severalClasses ? ["class"] : []), ...patterns];
  return csvOf([head, ...inOrder.map((k) => lines[k])]);
}

/** The cells of a line in the order of the pattern numbers. */
function usageShares(line) {
  const shares = [];
  usage.patterns.forEach((number, position) => (shares[number] = Number(cellAt(line, position).toFixed(3))));
  return data.patterns.map(({ number }) => shares[number]);
}

function makeDownloads() {
  const button = (label, name, type, make) =>
    el("button", { type: "button", onclick: () => save(name, type, make()) }, label);
  const buttons = [
    button("Everything on this page (json)", "report.json", "application/json", () => byId("data").textContent),
  ];
  if (usage) {
    buttons.unshift(
      button("Patterns (csv)", "patterns.csv", "text/csv", patternsCsv),
      button("Usage (csv)", "usage.csv", "text/csv", usageCsv),
    );
  }
  byId("download-buttons").append(...buttons);
  const held = sum(data.patterns.flatMap((pattern) => pattern.parts.map((part) => part.items.length)));
  const all = sum(data.patterns.flatMap((pattern) => pattern.parts.map((part) => part.size)));
  const notes = data.left_out ? [leftOutText()] : [];
  if (held < all) {
    notes.push(
      `The page holds the strongest ${data.limit} items of every pattern and role,`,
      `${count(held)} of ${plural(all, "item")};`,
      "patterns.csv, which “saltmine fit” writes beside this report, and model.patterns() have all.",
    );
  }
  if (usage && usage.rows_per_line > 1) {
    notes.push(
      `Usage is that of groups of up to ${plural(usage.rows_per_line, "row")};`,
      "usage.csv, which “saltmine fit” writes beside this report, and model.usage_ have every row.",
    );
  }
  byId("download-note").textContent = notes.join(" ");
}
