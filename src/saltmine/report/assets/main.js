// Puts the page together.

function currentTheme() {
  const chosen = document.documentElement.dataset.theme;
  return chosen || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}

function makeThemeButton() {
  const button = byId("theme");
  const label = () => (button.textContent = currentTheme() === "dark" ? "Light" : "Dark");
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = currentTheme() === "dark" ? "light" : "dark";
    dispatchEvent(new Event("themechange"));
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => dispatchEvent(new Event("themechange")));
  addEventListener("themechange", label);
  label();
}

/** Go to the card that the address names, also when the filters hide it. */
function followAddress() {
  const card = cards.find(({ node }) => `#${node.id}` === location.hash);
  if (!card) return;
  if (card.node.hidden) resetToolbar();
  drawCard(card);
  card.node.scrollIntoView({ block: "start" });
  card.node.focus({ preventScroll: true });
}

function preparePrint() {
  drawAllCards();
  drawUsage();
}

function main() {
  for (const node of document.querySelectorAll("[data-needs-script]")) node.hidden = false;
  if (!severalClasses) for (const node of document.querySelectorAll("[data-classes]")) node.remove();
  const optional = {
    "[data-groups]": data.patterns.some((pattern) => pattern.of_groups),
    "[data-having]": data.patterns.some((pattern) => pattern.all),
  };
  for (const [selector, wanted] of Object.entries(optional))
    if (!wanted) for (const node of document.querySelectorAll(selector)) node.remove();
  // The colours of many classes are of all shades; more ink keeps the pale ones readable.
  if (classes.length > 8) document.documentElement.style.setProperty("--tint", "48%");
  makeThemeButton();
  drawOverview();
  makeDownloads();
  if (data.patterns.length) {
    drawMap();
    makeCards();
    makeToolbar();
    makeUsage();
    addEventListener("hashchange", followAddress);
    addEventListener("beforeprint", preparePrint);
    matchMedia("print").addEventListener("change", (event) => event.matches && preparePrint());
    followAddress();
  } else {
    for (const id of ["map", "patterns", "usage"]) byId(id).remove();
    for (const link of document.querySelectorAll("nav a")) if (!document.querySelector(link.hash)) link.remove();
  }
  // After the first picture is on the screen.
  requestAnimationFrame(() => setTimeout(() => (window.saltmineReady = performance.now())));
}

main();
