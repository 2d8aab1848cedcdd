// One card per pattern. Bodies are drawn when they come into view, all of them before printing.

const cards = [];

function makeCards() {
  for (const pattern of data.patterns) cards.push(makeCard(pattern));
  byId("cards").append(...cards.map((card) => card.node));
  const watcher = new IntersectionObserver(
    (seen) =>
      seen.filter((entry) => entry.isIntersecting).forEach((entry) => drawCard(cards[entry.target.dataset.pattern])),
    { rootMargin: "600px" },
  );
  for (const card of cards) watcher.observe(card.node);
}

function makeCard(pattern) {
  const heading = el(
    "h3",
    { id: `heading-${pattern.number}` },
    el("span", { class: "number" }, `Pattern ${pattern.number}`),
    " ",
    headingNodes(pattern),
  );
  const found = el("p", { class: "found", hidden: true });
  const body = el("div", { class: "card-body" });
  const node = el(
    "article",
    {
      class: "card",
      id: `pattern-${pattern.number}`,
      "data-pattern": pattern.number,
      "aria-labelledby": heading.id,
      tabindex: "-1",
    },
    el("header", {}, heading, el("p", { class: "kind" }, kindNodes(pattern))),
    found,
    body,
  );
  return { pattern, node, found, body, drawn: false };
}

function drawCard(card) {
  if (card.drawn) return;
  card.drawn = true;
  card.body.append(
    el("div", { class: "card-facts" }, usageBars(card.pattern), trust(card.pattern)),
    contentOf(card.pattern),
  );
}

function drawAllCards() {
  cards.forEach(drawCard);
}

// ---------------------------------------------------------------- left: usage and trust

function usageBars(pattern) {
  const lines = everyClass.map((role) => usageBar(pattern, role));
  return el("section", {}, el("h4", {}, term("Used by", EXPLAINED.usage)), lines);
}

function usageBar(pattern, role) {
  const rows = classes[role].rows;
  const used = pattern.usage[role];
  const carriers = pattern.carriers ? pattern.carriers[role] : null;
  const bar = el(
    "span",
    { class: "bar" },
    el("span", { class: "bar-fill role", "--role": colourOf(severalClasses ? role : -1), "--share": used / rows }),
    carriers === null
      ? null
      : el("span", {
          class: "bar-tick",
          "--share": carriers / rows,
          title: `${plural(carriers, "row")} that carry it`,
        }),
  );
  const text = used
    ? `${count(used)} of ${plural(rows, "row")}, ${percent(used / rows)}`
    : `none of ${plural(rows, "row")}`;
  if (classes.length > MANY_CLASSES) {
    return el(
      "div",
      { class: "usage-bar compact", title: text },
      className(role),
      bar,
      el("span", { class: "bar-text" }, percent(used / rows)),
    );
  }
  return el(
    "div",
    { class: "usage-bar" },
    severalClasses ? className(role) : null,
    bar,
    el("span", { class: "bar-text" }, text),
  );
}

function trust(pattern) {
  const lines = [
    trustLine("Evidence", EXPLAINED.evidence, evidenceNodes(pattern.evidence)),
    trustLine("Gain", EXPLAINED.gain, pattern.gain === null ? "–" : `${figure(pattern.gain)} nats`),
  ];
  if (pattern.carriers) lines.push(trustLine("Carriers", EXPLAINED.carriers, carrierNodes(pattern)));
  if (data.refits)
    lines.push(
      trustLine(
        "Came back",
        EXPLAINED.stability,
        `in ${percent(pattern.stability)} of ${plural(data.refits, "refit")}`,
      ),
    );
  return el("section", {}, el("h4", {}, "How far to trust it"), el("dl", { class: "trust" }, lines));
}

function trustLine(label, explanation, value) {
  return [el("dt", {}, term(label, explanation)), el("dd", {}, value)];
}

function evidenceNodes(nats) {
  if (nats === null) return "–";
  return [`${figure(nats)} nats, `, el("span", { class: "nowrap" }, `p < ${chanceBelow(nats)}`)];
}

function carrierNodes(pattern) {
  if (!severalClasses) return `${count(pattern.carriers[0])} of ${plural(classes[0].rows, "row")}`;
  const have = everyClass.filter((role) => pattern.carriers[role]);
  if (classes.length > MANY_CLASSES)
    return `${plural(sum(pattern.carriers), "row")} of ${plural(have.length, "class")}`;
  if (!have.length) return "none";
  return have.flatMap((role, k) => [
    k ? ", " : "",
    el("span", { class: "nowrap", title: classes[role].name }, mark(role), ` ${count(pattern.carriers[role])}`),
  ]);
}
