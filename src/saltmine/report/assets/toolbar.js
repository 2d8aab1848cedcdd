// Search, filters and sorting of the cards.

const view = { query: "", owner: "", kinds: new Set(), sort: "number", findings: false };

// With more patterns than this the page begins with those of the findings; one switch shows the others.
const MANY_PATTERNS = 12;
const ofFindings = new Set(data.findings);

const SORTS = {
  number: ["Number: cells covered", (pattern) => -pattern.number],
  size: ["Items", (pattern) => pattern.size],
  usage: ["Rows that use it", (pattern) => sum(pattern.usage)],
  gain: ["Gain", (pattern) => pattern.gain ?? -Infinity],
  evidence: ["Evidence", (pattern) => pattern.evidence ?? -Infinity],
  difference: ["Difference between classes", differenceOf],
  stability: ["Came back in refits", (pattern) => pattern.stability ?? -Infinity],
};

const KINDS = { typical: "Typical", shared: "Shared", mostly: "Mostly", only: "Only", added: "Added" };
if (data.patterns.some((pattern) => pattern.of_groups)) KINDS.group = "Single groups";

/** The kinds that there are in a pattern. */
const kindsOf = (pattern) => [pattern.kind, ...(pattern.altered_by.length ? ["added"] : [])];

/** How far apart the classes are in their use of a pattern. */
function differenceOf(pattern) {
  const shares = everyClass.map((role) => usageShare(pattern, role));
  return Math.max(...shares) - Math.min(...shares);
}

function makeToolbar() {
  const bar = byId("toolbar");
  const search = el("input", {
    type: "search",
    id: "search",
    placeholder: "Item name",
    autocomplete: "off",
    spellcheck: "false",
  });
  search.addEventListener("input", () => update({ query: search.value.trim().toLowerCase() }));
  const sort = el("select", { id: "sort" }, sortOptions());
  sort.addEventListener("change", () => update({ sort: sort.value }));
  bar.append(labelled("Search", "search", search));
  if (severalClasses) bar.append(labelled("Class", "owner", ownerFilter()), kindFilter());
  bar.append(labelled("Sort by", "sort", sort));
  if (data.patterns.length > MANY_PATTERNS && data.patterns.some((pattern) => ofFindings.has(pattern.number))) {
    view.findings = true;
    bar.append(findingsSwitch());
  }
  bar.append(el("output", { id: "shown", "aria-live": "polite" }));
  bar.addEventListener("submit", (event) => event.preventDefault());
  update({});
}

function labelled(text, id, control) {
  return el("div", { class: "field" }, el("label", { for: id }, text), control);
}

function sortOptions() {
  const usable = Object.keys(SORTS).filter(
    (name) => (name !== "difference" || severalClasses) && (name !== "stability" || data.refits),
  );
  return usable.map((name) => el("option", { value: name }, SORTS[name][0]));
}

function ownerFilter() {
  const options = (relation) =>
    everyClass.map((role) => el("option", { value: `${relation} ${role}` }, classes[role].name));
  const group = (label, relation) => el("optgroup", { label }, options(relation));
  const select = el(
    "select",
    { id: "owner" },
    el("option", { value: "" }, "Any"),
    group("Used by", "used"),
    group("Mostly or only", "own"),
    group("Added by", "added"),
  );
  select.addEventListener("change", () => update({ owner: select.value }));
  return select;
}

function kindFilter() {
  const buttons = Object.entries(KINDS).map(([kind, label]) => {
    const amount = data.patterns.filter((pattern) => kindsOf(pattern).includes(kind)).length;
    const button = el(
      "button",
      { type: "button", "aria-pressed": "false", "data-kind": kind, disabled: !amount },
      label,
      el("span", { class: "amount" }, ` ${amount}`),
    );
    button.addEventListener("click", () => {
      const chosen = view.kinds.delete(kind) ? "false" : (view.kinds.add(kind), "true");
      button.setAttribute("aria-pressed", chosen);
      update({});
    });
    return button;
  });
  return el(
    "div",
    { class: "field" },
    el("span", { class: "field-name", id: "kinds-label" }, "Kind"),
    el("div", { class: "switch", role: "group", "aria-labelledby": "kinds-label" }, buttons),
  );
}

/** The switch between the patterns of the findings and all of them. */
function findingsSwitch() {
  const button = el("button", { type: "button", id: "findings-only", "aria-pressed": "true" }, "Patterns of findings");
  button.addEventListener("click", () => update({ findings: !view.findings }));
  return el("div", { class: "field" }, el("span", { class: "field-name" }, "Show only"), el("div", { class: "switch" }, button));
}

/** Show all patterns again. */
function resetToolbar() {
  byId("toolbar").reset();
  for (const button of document.querySelectorAll("#toolbar [data-kind]")) button.setAttribute("aria-pressed", "false");
  view.kinds.clear();
  update({ query: "", owner: "", sort: "number", findings: false });
}

// ---------------------------------------------------------------- applying it

function update(change) {
  Object.assign(view, change);
  const value = SORTS[view.sort][1];
  const shown = cards
    .filter(isShown)
    .sort((a, b) => value(b.pattern) - value(a.pattern) || a.pattern.number - b.pattern.number);
  for (const card of cards) card.node.hidden = true;
  for (const card of shown) card.node.hidden = false;
  byId("cards").append(...shown.map((card) => card.node));
  shown.slice(0, FIRST_CARDS).forEach(drawCard);
  // The typical row is no pattern that was found.
  const found = (some) => some.filter((card) => !card.pattern.typical).length;
  const all = shown.length === cards.length;
  const onlyFindings = view.findings && !isLooking();
  byId("findings-only")?.setAttribute("aria-pressed", String(onlyFindings));
  byId("shown").textContent = all
    ? plural(found(cards), "pattern")
    : `${count(found(shown))} of ${plural(found(cards), "pattern")}${onlyFindings ? ", those of the findings" : ""}`;
  byId("no-cards").hidden = shown.length > 0;
}

/** Whether the reader looks for something, which is then looked for among all patterns. */
const isLooking = () => Boolean(view.query || view.owner || view.kinds.size);

function isShown(card) {
  const wanted = isLooking() || !view.findings || card.pattern.typical || ofFindings.has(card.pattern.number);
  return ofKind(card.pattern) && ofOwner(card.pattern) && isFound(card) && Boolean(wanted);
}

const ofKind = (pattern) => !view.kinds.size || kindsOf(pattern).some((kind) => view.kinds.has(kind));

function ofOwner(pattern) {
  if (!view.owner) return true;
  const [relation, number] = view.owner.split(" ");
  const role = Number(number);
  if (relation === "added") return pattern.altered_by.includes(role);
  if (relation === "own") return pattern.owners.some(([owner]) => owner === role);
  return pattern.usage[role] > 0;
}

const lowerNames = data.items.names.map((_, item) => itemName(item).toLowerCase());

/** Whether an item of the card matches the search; the card then says which. */
function isFound(card) {
  card.found.hidden = !view.query;
  if (!view.query) return true;
  const matches = drawnParts(card.pattern).flatMap((part) =>
    part.items.filter((item) => lowerNames[item].includes(view.query)).map((item) => ({ item, role: part.role })),
  );
  const named = matches
    .slice(0, 6)
    .flatMap(({ item, role }, k) => [k ? ", " : "", mark(role), " ", el("mark", {}, itemNode(item))]);
  card.found.replaceChildren(
    "Found here: ",
    ...named,
    matches.length > 6 ? ` and ${count(matches.length - 6)} more` : "",
  );
  return matches.length > 0;
}
