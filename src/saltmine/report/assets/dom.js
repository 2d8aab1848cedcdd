"use strict";
// Small helpers that know nothing about patterns. Names in the data are text and stay text: nothing here takes HTML.

const SVG = "http://www.w3.org/2000/svg";

/** Make an element: el("p", {class: "lead"}, "text", child, ...). */
function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Make an element of a drawing. */
function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name.startsWith("--")) node.style.setProperty(name, value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

const byId = (id) => document.getElementById(id);

const range = (n) => Array.from({ length: n }, (_, k) => k);

const sum = (values) => values.reduce((total, value) => total + value, 0);

// ---------------------------------------------------------------- numbers in words

const grouped = new Intl.NumberFormat("en");

/** 12345 -> "12,345". */
const count = (value) => grouped.format(value);

/** A count and its noun: "1 row", "7 rows", "2 classes". */
function plural(value, noun) {
  const ending = value === 1 ? "" : noun.endsWith("s") ? "es" : "s";
  return `${count(value)} ${noun}${ending}`;
}

/** 0.3141 -> "31 %", with a second digit below ten. */
function percent(share) {
  const value = 100 * share;
  const text = value === 0 || value >= 9.95 ? value.toFixed(0) : value >= 0.1 ? value.toFixed(1) : value.toPrecision(1);
  return `${text}\u202f%`;
}

/** Three digits that count, large numbers whole: 1203.4 -> "1,203". */
function figure(value) {
  if (value === null || value === undefined) return "–";
  return Math.abs(value) >= 100 ? count(Math.round(value)) : String(Number(value.toPrecision(3)));
}

const RAISED = [..."⁰¹²³⁴⁵⁶⁷⁸⁹"];
const powerOfTen = (exponent) => "10" + [...String(exponent)].map((digit) => RAISED[digit] ?? "⁻").join("");

/** A probability: 0.034 -> "0.034", 3e-9 -> "3·10⁻⁹". */
function probability(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return `< ${powerOfTen(-300)}`;
  if (value >= 0.001) return String(Number(value.toPrecision(2)));
  const [digit, exponent] = value.toExponential(0).split("e");
  return `${digit}·${powerOfTen(Number(exponent))}`;
}

/** Evidence in nats as a bound on a probability: 312 -> "10⁻¹³⁵". */
function chanceBelow(nats) {
  const exponent = Math.floor(nats / Math.LN10);
  return exponent < 1 ? "1" : powerOfTen(-exponent);
}

/** Verb for a count: agree(1, "uses", "use") -> "uses". */
const agree = (value, one, several) => (value === 1 ? one : several);

/** The first and last letters of a long name; a title beside it holds the whole. */
function brief(name, most = 80) {
  const letters = [...name];
  if (letters.length <= most) return name;
  return `${letters.slice(0, most - 26).join("")}…${letters.slice(-25).join("")}`;
}

// ---------------------------------------------------------------- lists that open

/** A button that opens and closes something; `show` gets whether it is open. */
function opener(closed, open, show) {
  const state = { "aria-expanded": "false", "data-no-export": true };
  const button = el("button", { type: "button", class: "quiet", ...state }, closed);
  button.addEventListener("click", () => {
    const opens = button.getAttribute("aria-expanded") === "false";
    button.setAttribute("aria-expanded", opens);
    button.textContent = opens ? open : closed;
    show(opens);
  });
  return button;
}

/** The first `most` of `total` entries in a frame, and a line with a button for the others. */
function shortList(frame, total, most, make, rest) {
  const show = (open) => frame.replaceChildren(...range(open ? total : Math.min(most, total)).flatMap(make));
  show(false);
  if (total <= most && !rest) return [frame];
  const button = total > most ? opener(`Show all ${count(total)}`, "Show fewer", show) : null;
  return [frame, el("p", { class: "more-line" }, button, rest ? el("span", { class: "more" }, rest) : null)];
}

// ---------------------------------------------------------------- explanations that pop up

/** A word with an explanation on hover, focus and tap. */
function term(text, explanation) {
  const button = el("button", { type: "button", class: "term", "aria-describedby": "tip" }, text);
  const show = () => showTip(explanation, button.getBoundingClientRect());
  for (const event of ["mouseenter", "focus", "click"]) button.addEventListener(event, show);
  for (const event of ["mouseleave", "blur"]) button.addEventListener(event, hideTip);
  return button;
}

/** Show a text beside a box on the screen, inside the window. */
function showTip(content, box) {
  const tip = byId("tip");
  tip.replaceChildren(...[content].flat());
  tip.hidden = false;
  const left = Math.min(Math.max(8, box.left), innerWidth - tip.offsetWidth - 8);
  const below = box.bottom + 6 + tip.offsetHeight < innerHeight;
  tip.style.left = `${left}px`;
  tip.style.top = `${Math.max(4, below ? box.bottom + 6 : box.top - tip.offsetHeight - 6)}px`;
}

function hideTip() {
  byId("tip").hidden = true;
}

addEventListener("keydown", (event) => event.key === "Escape" && hideTip());
addEventListener("scroll", hideTip, { passive: true });

// ---------------------------------------------------------------- bytes

/** Decode base64 into bytes. */
function bytesOf(text) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let k = 0; k < letters.length; k++) bytes[k] = letters.charCodeAt(k);
  return bytes;
}

/** Positions of the ones in a bit set, first bit highest. */
function onesOf(text) {
  const ones = [];
  bytesOf(text).forEach((byte, k) => {
    for (let bit = 0; bit < 8; bit++) if (byte & (128 >> bit)) ones.push(8 * k + bit);
  });
  return ones;
}

/** Hand a file to the reader. */
function save(name, type, content) {
  const link = el("a", { href: URL.createObjectURL(new Blob([content], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
