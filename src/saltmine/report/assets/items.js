// What a card shows of the items of its pattern: a picture where there is one, and lists with support in the classes.

const FIRST_SHOWN = 8;
// Parts of a pattern; those of many classes are opened on demand.
const FIRST_PARTS = 6;

function contentOf(pattern) {
  const lists = () => itemLists(pattern);
  if (data.kind === "words") return el("div", { class: "card-content" }, cloudOrTable(pattern, lists));
  const picture = data.layout ? pictureOf(pattern) : null;
  const beside = data.layout && data.layout.kind === "pixels";
  return el("div", { class: beside ? "card-content beside" : "card-content" }, picture, lists());
}

/** The lists of all parts with their legend. */
function itemLists(pattern) {
  const parts = drawnParts(pattern);
  const more = parts.length - FIRST_PARTS;
  const rest = more > 0 ? `and ${plural(more, "more class")} that ${agree(more, "adds", "add")} items` : null;
  const whose = manyClasses ? " of the class or classes" : severalClasses ? " of the class" : "";
  const key = legend(
    legendEntry(barSample(colourOf(-1)), "share of the rows that use the pattern that have the item (support)"),
    legendEntry(tickSample(), `share of all rows${whose} that have it`),
  );
  key.classList.add("items-legend");
  const list = el("div", { class: "parts" });
  const lists = shortList(list, parts.length, FIRST_PARTS, (k) => partSection(parts[k], pattern), rest);
  return figureOf(`the items of pattern ${pattern.number}`, `pattern-${pattern.number}-items`, lists, key);
}

function partSection(part, pattern) {
  const numbers = [];
  if (isAdded(part)) {
    if (part.evidence !== null) numbers.push(term(`evidence ${figure(part.evidence)}`, EXPLAINED.evidence));
    if (part.gain !== null) numbers.push(term(`gain ${figure(part.gain)}`, EXPLAINED.gain));
    if (part.stability != null) numbers.push(term(`came back ${percent(part.stability)}`, EXPLAINED.stability));
  }
  if (isAdded(part) && pattern.unconfirmed.includes(part.role)) numbers.push("not confirmed");
  const tests = (part.owners || [part]).filter((owner) => owner.q_value !== null);
  if (tests.length) {
    const values = tests.slice(0, 3).map((owner) => probability(owner.q_value));
    const more = tests.length > 3 ? ` and ${count(tests.length - 3)} more` : "";
    numbers.push(term(`q ${values.join(", ")}${more}`, EXPLAINED.q));
  }
  const [button, matrix] = manyClasses ? classMatrix(part, pattern) : [];
  const head = el("div", { class: "part-head" }, el("h4", {}, partTitle(part)), numbers, button);
  return el("section", { class: "part role", "--role": colourOf(part.role) }, head, itemTable(part, pattern), matrix);
}

// ---------------------------------------------------------------- the list

/** Columns of a list: heads and the classes they count; of many classes, those of the part and all others. */
function columnsOf(part, pattern) {
  if (!manyClasses) return everyClass.map((role) => ({ head: headOf(role), roles: [role], colour: roleColour(role) }));
  const owners = (part.owners || [part]).map((owner) => owner.role).filter((role) => role >= 0);
  if (!owners.length) return [{ head: "all rows that use it", roles: everyClass, colour: colourOf(-1) }];
  const own = owners.length > 1 ? `these ${plural(owners.length, "class")}` : className(owners[0]);
  const adding = part.kind === "added" ? pattern.altered_by : owners;
  const without = everyClass.filter((role) => !adding.includes(role));
  const others = without.length ? without : everyClass.filter((role) => !owners.includes(role));
  const head = part.kind === "added" && without.length ? "classes that add nothing" : "other classes that use it";
  const rest = { head, roles: others, colour: null };
  return [{ head: own, roles: owners, colour: colourOf(part.role) }, ...(others.length ? [rest] : [])];
}

const headOf = (role) => (severalClasses ? className(role) : "support");

const roleColour = (role) => colourOf(severalClasses ? role : -1);

/** The items, strongest first. */
function itemTable(part, pattern) {
  const columns = columnsOf(part, pattern);
  const crowd = manyClasses ? " even" : columns.length + (part.item_stability ? 1 : 0) > 3 ? " crowded" : "";
  const body = el("tbody");
  const row = (k) => itemRow(part, pattern, k, columns);
  const lines = shortList(body, part.items.length, FIRST_SHOWN, row, moreOf(part));
  const table = el("table", { class: `items${crowd}` }, itemHead(part, columns), body);
  return [el("div", { class: "scroll" }, table), ...lines.slice(1)];
}

function itemHead(part, columns) {
  const head = (content) => el("th", { scope: "col", class: "share-head" }, content);
  const heads = columns.map((column) => head(column.head));
  const back = part.item_stability ? head(term("back", EXPLAINED.stability)) : null;
  const first = el("th", { scope: "col" }, el("span", { class: "unseen" }, "Item"));
  return el("thead", {}, el("tr", {}, first, heads, back));
}

function itemRow(part, pattern, k, columns) {
  const back = part.item_stability ? el("td", { class: "amount" }, percent(part.item_stability[k])) : null;
  const cells = columns.map((column) => {
    const { support, all, text } = supportOf(part, pattern, k, column.roles);
    return shareCell(column.colour, support, all, text);
  });
  return el("tr", {}, el("th", { scope: "row" }, itemNode(part.items[k])), cells, back);
}

/** How many of the rows of some classes that use the pattern have an item, and of all their rows. */
function supportOf(part, pattern, k, roles) {
  const total = (values) => sum(roles.map((role) => values(role)));
  const used = total((role) => pattern.usage[role]);
  const hits = total((role) => part.hits[role][k]);
  const having = total((role) => data.items.counts[role][part.items[k]]);
  const rows = total((role) => classes[role].rows);
  const whose = roles.length === 1 ? `${classes[roles[0]].name}: ` : "";
  const inUsers = used
    ? `${count(hits)} of the ${plural(used, "row")} that ${agree(used, "uses", "use")} the pattern ` +
      `${agree(hits, "has", "have")} it; `
    : "no row uses the pattern; ";
  const inAll = `${count(having)} of all ${plural(rows, "row")} ${agree(having, "has", "have")} it`;
  return { support: used ? hits / used : null, all: having / rows, text: whose + inUsers + inAll };
}

/** A share as a bar before its number; the tick is the share among all rows of the class. */
function shareCell(colour, share, tick, title) {
  const bar = el(
    "span",
    { class: "bar share-bar" },
    el("span", { class: colour ? "bar-fill role" : "bar-fill plain-fill", "--role": colour, "--share": share || 0 }),
    tick === null ? null : el("span", { class: "bar-tick", "--share": tick }),
  );
  const text = el("span", { class: "share-text" }, share === null ? "–" : percent(share));
  return el("td", { class: "share", title }, el("span", { class: "share-line" }, bar, text));
}

/** How many items are not in the list yet, and how many the page does not hold. */
function moreOf(part) {
  const hidden = part.size - part.items.length;
  const left = part.size - Math.min(FIRST_SHOWN, part.items.length);
  const where = hidden ? `, ${count(hidden)} of them only in patterns.csv of “saltmine fit”` : "";
  return left ? `and ${plural(left, "more item")}${where}` : null;
}

// ---------------------------------------------------------------- every class

/** A button, and the frame in which it opens the support of the items in every class that uses the pattern. */
function classMatrix(part, pattern) {
  const frame = el("div", { class: "by-class", hidden: true });
  const button = opener("Class by class", "Hide the classes", (open) => {
    if (!frame.hasChildNodes()) frame.append(...matrixNodes(part, pattern));
    frame.hidden = !open;
  });
  return [button, frame];
}

function matrixNodes(part, pattern) {
  const users = usersOf(pattern);
  const idle = classes.length - users.length;
  const heads = users.map((role) => el("th", { scope: "col", class: "upright" }, className(role)));
  const rows = part.items.slice(0, 5 * FIRST_SHOWN).map((item, k) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, itemNode(item)),
      users.map((role) => matrixCell(role, supportOf(part, pattern, k, [role]))),
    ),
  );
  const head = el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "support in %"), heads));
  const note = idle ? `${plural(idle, "class")} that ${agree(idle, "does", "do")} not use the pattern left out.` : "";
  const about = "Number and shade: share of the rows of the class that use the pattern that have the item. ";
  const table = el("table", { class: "items matrix" }, head, el("tbody", {}, rows));
  return [el("p", { class: "legend" }, about, note), el("div", { class: "scroll", tabindex: "0" }, table)];
}

function matrixCell(role, { support, text }) {
  return el(
    "td",
    { class: "heat role", "--role": colourOf(role), "--heat": support || 0, title: text },
    Math.round(100 * (support || 0)),
  );
}
