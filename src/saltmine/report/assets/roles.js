// The embedded data, and what belongs to a role: what is common (-1) or a class (0, 1, ...).

const data = JSON.parse(byId("data").textContent);
const classes = data.classes;
const severalClasses = classes.length > 1;
const everyClass = range(classes.length);
// With more classes, tables have no column for each of them.
const MANY_CLASSES = 5;
const manyClasses = classes.length > MANY_CLASSES;

// A shape beside every colour, so that colour alone never tells classes apart. Drawn in a box from -5 to 5.
const SHAPES = [
  "M0-4.5A4.5 4.5 0 1 1 0 4.5A4.5 4.5 0 1 1 0-4.5Z",
  "M0-5L5 4.5H-5Z",
  "M-4-4H4V4H-4Z",
  "M0-5.5L5.5 0L0 5.5L-5.5 0Z",
  "M0 5L-5-4.5H5Z",
  "M-1.8-5H1.8V-1.8H5V1.8H1.8V5H-1.8V1.8H-5V-1.8H-1.8Z",
  "M0-5.5L1.5-1.8L5.4-1.7L2.3.7L3.4 4.5L0 2.3L-3.4 4.5L-2.3.7L-5.4-1.7L-1.5-1.8Z",
  "M-2.5-4.5H2.5L5 0L2.5 4.5H-2.5L-5 0Z",
];
const RING = "M0-5A5 5 0 1 1 0 5A5 5 0 1 1 0-5ZM0-2.6A2.6 2.6 0 1 0 0 2.6A2.6 2.6 0 1 0 0-2.6Z";

const shapeOf = (role) => (role < 0 ? RING : SHAPES[role % SHAPES.length]);

const colourOf = (role) => (role < 0 ? data.colour : classes[role].colour);

/** The small shape that stands for a role. */
function mark(role) {
  const path = svg("path", { d: shapeOf(role), "fill-rule": "evenodd" });
  return svg(
    "svg",
    { class: "mark role", viewBox: "-6 -6 12 12", "--role": colourOf(role), "aria-hidden": "true" },
    path,
  );
}

/** Mark and name of a class. */
function className(role) {
  const { name } = classes[role];
  return el("span", { class: "class-name", title: name }, mark(role), el("bdi", {}, brief(name)));
}

// ---------------------------------------------------------------- items

/** Name of an embedded item; data without names have numbers. */
function itemName(item) {
  const name = data.items.names[item];
  return typeof name === "number" ? `item ${name}` : name;
}

const itemNode = (item) => el("bdi", { class: "item", title: itemName(item) }, itemName(item));

/** Share of the rows of a class that have an item. */
const shareOf = (item, role) => data.items.counts[role][item] / classes[role].rows;

// ---------------------------------------------------------------- patterns

const byNumber = new Map(data.patterns.map((pattern) => [pattern.number, pattern]));

/** The classes that use a pattern; of many classes, those with the largest shares first. */
function usersOf(pattern) {
  const users = everyClass.filter((role) => pattern.usage[role]);
  return manyClasses ? users.sort((a, b) => usageShare(pattern, b) - usageShare(pattern, a) || a - b) : users;
}

const usageShare = (pattern, role) => pattern.usage[role] / classes[role].rows;

const isAdded = (part) => part.kind === "added";

/** Number of items that a class adds to a pattern. */
const addedSize = (pattern, role) =>
  sum(pattern.parts.filter((part) => isAdded(part) && part.role === role).map((part) => part.size));

/** The parts as they are drawn: the items of a pattern of several classes once, with these parts as `owners`. */
function drawnParts(pattern) {
  const owned = pattern.parts.filter((part) => part.role >= 0 && !isAdded(part));
  if (owned.length < 2) return pattern.parts;
  return [{ ...owned[0], role: -1, owners: owned }, ...pattern.parts.filter(isAdded)];
}

/** A pattern by its strongest items; names of pixels say less than how many there are. */
function headingNodes(pattern) {
  if (data.kind === "pixels") return [plural(pattern.size, "pixel")];
  const names = pattern.heading.flatMap(([item, role], k) => [
    k ? ", " : "",
    role >= 0 && pattern.altered_by.length ? mark(role) : null,
    el("bdi", {}, itemName(item)),
  ]);
  return pattern.size > pattern.heading.length ? [...names, " …"] : names;
}

/** The same as plain text. */
function headingText(pattern) {
  return data.kind === "pixels"
    ? plural(pattern.size, "pixel")
    : pattern.heading.map(([item]) => itemName(item)).join(", ");
}

/** What a pattern is to the classes, in words with their marks. */
function kindNodes(pattern) {
  if (pattern.of_groups) return [el("bdi", {}, pattern.of_groups)];
  if (!severalClasses) return pattern.typical ? ["typical row"] : [];
  const owners = pattern.owners.map(([role]) => role);
  const common = pattern.typical ? ["typical row"] : sharedNodes(pattern);
  const kind = owners.length ? [`${pattern.kind} `, ...classNames(owners)] : common;
  const { altered_by: alterers } = pattern;
  if (!alterers.length) return kind;
  return [...kind, "; ", ...classNames(alterers), alterers.length > 1 ? " add items" : " adds items"];
}

/** That a pattern is shared, and why, where only one class uses it. */
function sharedNodes(pattern) {
  if (pattern.main_user === null) return ["shared"];
  const everyone = classes.length === 2 ? "both" : "all";
  return [`shared: carried by ${everyone} classes, used mainly by `, className(pattern.main_user)];
}

/** Names of classes; of many, the first three and a word that names the others. */
function classNames(roles) {
  const named = roles.length > 4 ? roles.slice(0, 3) : roles;
  const others = roles.slice(named.length).map((role) => classes[role].name);
  const names = named.flatMap((role, k) => [k ? ", " : "", className(role)]);
  return others.length ? [...names, " and ", term(plural(others.length, "more class"), others.join(", "))] : names;
}

const ITEM_NOUNS = { words: "word", pixels: "pixel" };

/** Heading of a part: what its items are. */
function partTitle(part) {
  const size = ` (${plural(part.size, ITEM_NOUNS[data.kind] || "item")})`;
  const kind = part.kind === "only" ? "Only " : "Mostly ";
  if (part.owners) return [kind, ...classNames(part.owners.map((owner) => owner.role)), size];
  if (part.kind === "typical") return [mark(-1), "What most rows have", size];
  if (part.kind === "group") return [mark(-1), "Items", size];
  if (part.role < 0) return [mark(-1), severalClasses ? "Shared items" : "Items", size];
  return isAdded(part) ? [className(part.role), " adds", size] : [kind, className(part.role), size];
}
