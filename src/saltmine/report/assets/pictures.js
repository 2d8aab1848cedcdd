// Items that have a place: pixels as an image, loci on chromosomes.

function pictureOf(pattern) {
  const pixels = data.layout.kind === "pixels";
  const picture = pixels ? pixelPicture(pattern) : chromosomeStrips(pattern);
  const what = pixels ? "A square: a pixel of the pattern." : "A tick: a locus of the pattern. Lanes, from above:";
  const key = legend(legendEntry(null, what), partEntries(pattern));
  const name = `the ${pixels ? "pixels" : "loci"} of pattern ${pattern.number}`;
  return figureOf(name, `pattern-${pattern.number}-${data.layout.kind}`, picture, key);
}

// ---------------------------------------------------------------- pixels

const SMALLEST_WITH_SHAPES = 20;

function pixelPicture(pattern) {
  const { height, width } = data.layout;
  const picture = svg("svg", {
    class: "pixels",
    viewBox: `-0.1 -0.1 ${width + 0.2} ${height + 0.2}`,
    role: "img",
    "aria-label": `Pixels of pattern ${pattern.number}`,
  });
  picture.append(svg("rect", { class: "paper", x: -0.1, y: -0.1, width: width + 0.2, height: height + 0.2 }));
  for (const part of drawnParts(pattern)) {
    const corners = onesOf(part.places).map((place) => [place % width, Math.floor(place / width)]);
    const squares = corners.map(([x, y]) => `M${x + 0.04} ${y + 0.04}h.92v.92h-.92z`).join("");
    picture.append(svg("path", { class: "role", d: squares, "--role": colourOf(part.role) }));
    // Shapes beside the colours, where a pixel is large enough to hold one.
    if (part.role >= 0 && Math.max(width, height) <= SMALLEST_WITH_SHAPES) {
      for (const [x, y] of corners)
        picture.append(
          svg("path", {
            class: "on-fill",
            d: shapeOf(part.role),
            transform: `translate(${x + 0.5} ${y + 0.5}) scale(.055)`,
          }),
        );
    }
  }
  return picture;
}

// ---------------------------------------------------------------- chromosomes

const LANE = 7;

/** One line per chromosome; every role has its own lane in it, in the order of the lists below. */
function chromosomeStrips(pattern) {
  const chromosomes = data.layout.chromosomes;
  const longest = Math.max(...chromosomes.map((chromosome) => chromosome.bins));
  const lanes = drawnParts(pattern).map((part) => ({ role: part.role, places: onesOf(part.places) }));
  let first = 0;
  const lines = chromosomes.map((chromosome) => {
    const line = chromosomeLine(chromosome, first, lanes, longest);
    first += chromosome.bins;
    return line;
  });
  const note = data.layout.left_out
    ? el("p", { class: "more" }, `${plural(data.layout.left_out, "shorter contig")} not drawn.`)
    : null;
  return el(
    "div",
    {
      class: "strips",
      role: "img",
      "aria-label": `Where the loci of pattern ${pattern.number} lie on the chromosomes`,
    },
    lines,
    note,
  );
}

function chromosomeLine(chromosome, first, lanes, longest) {
  const height = LANE * lanes.length;
  const picture = svg("svg", {
    viewBox: `0 0 ${chromosome.bins} ${height}`,
    preserveAspectRatio: "none",
    "--length": chromosome.bins / longest,
    "--lanes": lanes.length,
  });
  picture.append(svg("rect", { class: "paper", width: chromosome.bins, height }));
  lanes.forEach((lane, k) => {
    const here = lane.places.filter((place) => place >= first && place < first + chromosome.bins);
    const ticks = here.map((place) => `M${place - first + 0.5} ${k * LANE + 1}v${LANE - 2}`).join("");
    picture.append(svg("path", { class: "tick role", d: ticks, "--role": colourOf(lane.role) }));
  });
  const millions = (chromosome.length / 1e6).toPrecision(3);
  return el(
    "div",
    { class: "strip", title: `${chromosome.name}, ${millions} million bases` },
    el("span", { class: "strip-name" }, chromosome.name),
    picture,
  );
}
