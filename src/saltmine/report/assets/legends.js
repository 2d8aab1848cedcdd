// Legends: what bars, ticks, shades and colours mean, and the words that need an explanation.

const EXPLAINED = {
  evidence:
    "How far chance is from explaining this: minus the logarithm of a bound on the probability that chance shows " +
    "as much. It is no effect size." +
    (data.groups ? ` It counts ${data.groups}, not rows.` : ""),
  gain: "How much longer the description of the data would be without it, in nats. The more, the more it explains.",
  nats: "Unit of information, the length of a description: 1 nat is 1.44 bits.",
  carriers:
    "Rows whose description the pattern would shorten if there were no other pattern, by the items that all classes " +
    "have in it.",
  all: "Rows that have all items that all classes have in the pattern, whether or not they use it.",
  most: "Rows that have more than half of the items that all classes have in the pattern.",
  stability: "Share of refits, on rows drawn anew, in which it was found again.",
  q:
    "Mostly, only: exact test that a larger share of the rows of the class carries the pattern than of all other rows. " +
    "Added: that carriers of the class have the added items more often than those of classes that do not add them. " +
    "Corrected for the number of tests." +
    (data.groups ? ` Tests count ${data.groups}, not rows.` : ""),
  usage: "Rows whose description is shortest with the pattern in it. Not every item of it has to be there.",
  strength:
    "Rows that use the pattern and have the item, times the logarithm of how much more frequent it is there than in " +
    "the rows it is compared with.",
};

/** A legend of samples and what they mean. */
function legend(...entries) {
  return el("p", { class: "legend" }, entries);
}

function legendEntry(sample, ...text) {
  return el("span", { class: "legend-entry" }, sample, el("span", {}, text));
}

/** A short bar as in the figure. */
const barSample = (colour = null) =>
  el(
    "span",
    { class: "bar sample", "aria-hidden": "true" },
    el("span", { class: colour ? "bar-fill role" : "bar-fill", "--role": colour, "--share": 0.65 }),
  );

const tickSample = () =>
  el("span", { class: "sample tick-sample", "aria-hidden": "true" }, el("span", { class: "bar-tick", "--share": 0.5 }));

const shadeSample = (heat) =>
  el("span", { class: "sample heat role", "aria-hidden": "true", "--role": colourOf(-1), "--heat": heat });

/** The colours of a pattern: what is shared, and the classes that own or add items. */
function partEntries(pattern) {
  return drawnParts(pattern).map((part) => el("span", { class: "legend-entry" }, partTitle(part)));
}

/** All classes with their marks. */
const classEntries = () => everyClass.map((role) => el("span", { class: "legend-entry" }, className(role)));
