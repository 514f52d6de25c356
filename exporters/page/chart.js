// Draws a group's lag, time lag and rates over time as SVG: the samples that the server keeps, and those received since the page
// was opened. Only numbers and constant words are drawn, and the words of the marks.

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 150;
const PAD = { left: 76, right: 12, top: 12, bottom: 24 };
const SPAN_SECONDS = 3600;
const GAP_SECONDS = 90; // samples further apart are not connected: the values in between are unknown
const STEPS = [1, 2, 5, 10];
const TIME_STEPS = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 28800, 43200, 86400];

// A panel has a curve per column of a sample. `say` formats a value, `whole` a sample.
const PANELS = [
  { name: "Lag", unit: "offsets", columns: [1], say: count, step: decimal, whole: (s) => `${count(s[1])} ${s[1] === 1 ? "offset" : "offsets"}` },
  { name: "Time lag", unit: "age of the oldest unread record", columns: [2], say: duration, step: sexagesimal, whole: atLeast },
  { name: "Rate", unit: "offsets per second", columns: [4, 5], curves: ["produced", "consumed"], say: rate, step: decimalFraction, whole: rates },
];

export class Chart {
  #element;
  #panels;
  #samples = new Map();
  #marks = [];
  #pointed = null;
  #width = 0;

  constructor(element) {
    this.#element = element;
    const only = element.dataset.panels; // the name of a panel
    this.#panels = only === undefined ? PANELS : PANELS.filter((panel) => panel.name === only);
    new ResizeObserver(([change]) => {
      if (change.contentRect.width === this.#width) return; // the drawing itself changes the height
      this.#width = change.contentRect.width;
      this.#redraw();
    }).observe(element);
    element.addEventListener("pointermove", (event) => this.#point(event));
    element.addEventListener("pointerleave", () => this.#point(null));
  }

  /** Add samples, [Unix seconds, lag, time lag, whether it is exact, produced, consumed], and set the marks, [Unix seconds, kind, word]. */
  draw(samples, marks) {
    for (const sample of samples) this.#samples.set(sample[0], sample);
    this.#marks = marks;
    this.#redraw();
  }

  #point(event) {
    this.#pointed = event === null ? null : event.clientX - (this.#element.querySelector("svg")?.getBoundingClientRect().left ?? 0);
    this.#redraw();
  }

  #redraw() {
    if (this.#width === 0) return;
    const all = [...this.#samples.values()].sort((one, other) => one[0] - other[0]);
    const end = all.at(-1)?.[0] ?? 0;
    const samples = all.filter((sample) => sample[0] >= end - SPAN_SECONDS);
    const width = Math.max(this.#width, 240);
    const time = scale(Math.min(samples[0]?.[0] ?? 0, end - 60), end, PAD.left, width - PAD.right);
    const near = this.#pointed === null ? null : nearest(samples, time, this.#pointed);
    this.#element.replaceChildren(...this.#panels.map((panel) => figure(panel, samples, this.#marks, time, width, near)));
  }
}

function figure(panel, samples, marks, time, width, near) {
  const isKnown = (sample) => panel.columns.some((column) => sample[column] !== null);
  const known = samples.filter(isKnown);
  const shown = near ?? samples.at(-1);
  const value = shown === undefined || !isKnown(shown) ? "unknown" : panel.whole(shown);
  const when = near === null ? "latest" : `${clock(near[0])} UTC (${duration(time.end - near[0])} before)`;
  const caption = element("figcaption", { class: "reading" });
  caption.append(text("b", panel.name), ` ${value} `, text("small", when), ...(panel.curves ?? []).flatMap(key));
  const most = Math.max(0, ...known.flatMap((sample) => panel.columns.map((column) => sample[column] ?? 0)));
  const drawing = svg("svg", { width, height: HEIGHT, role: "img" });
  drawing.append(title(panel, known, most, time));
  const step = panel.step(most / 3);
  const top = Math.max(step * Math.ceil(most / step), step);
  const level = scale(0, top, HEIGHT - PAD.bottom, PAD.top);
  for (let at = 0; at <= top + step / 2; at += step) drawing.append(...line(panel.say(at), level(at), width));
  drawing.append(...ticks(time), ...markLines(marks, time));
  panel.columns.forEach((column, place) => {
    const name = panel.curves?.[place] ?? "filled";
    for (const run of connected(samples.filter((sample) => sample[column] !== null))) drawing.append(...curve(run, column, name, time, level));
  });
  if (near !== null && isKnown(near)) {
    drawing.append(svg("line", { class: "pointer", x1: time(near[0]), x2: time(near[0]), y1: PAD.top, y2: level(0) }));
    const values = panel.columns.map((column) => near[column]).filter((each) => each !== null);
    drawing.append(...values.map((each) => svg("circle", { class: "dot", cx: time(near[0]), cy: level(each), r: 4 })));
  }
  const whole = element("figure", {});
  whole.append(caption, drawing);
  return whole;
}

function title(panel, known, most, time) {
  const span = duration(time.end - time.start);
  const words = known.length
    ? `${panel.name} (${panel.unit}) over ${span}: latest ${panel.whole(known.at(-1))}, at most ${panel.say(most)}`
    : `${panel.name}: not known`;
  const named = svg("title", {});
  named.textContent = words;
  return named;
}

function line(words, y, width) {
  return [
    svg("line", { class: "grid", x1: PAD.left, x2: width - PAD.right, y1: y, y2: y }),
    label(words, { x: PAD.left - 8, y: y + 4, "text-anchor": "end" }),
  ];
}

/** Label round clock times in UTC, as all times of the pages are. */
function ticks(time) {
  const step = timeStep(time.end - time.start, time(time.end) - time(time.start));
  const width = step < 60 ? 52 : 36; // of a label, which is not drawn over the last one or the axis
  const marks = [];
  for (let at = Math.ceil(time.start / step) * step; at <= time.end; at += step) {
    if (time(at) < PAD.left || time(at) > time(time.end) - width / 2 - 30) continue;
    const words = clock(at).slice(0, step < 60 ? 8 : 5);
    marks.push(label(words, { x: time(at), y: HEIGHT - 6, "text-anchor": "middle" }));
  }
  marks.push(label("UTC", { x: time(time.end), y: HEIGHT - 6, "text-anchor": "end" }));
  return marks;
}

/** Return the seconds between labels: about a hundred pixels, or five labels where they fit. */
function timeStep(seconds, pixels) {
  const step = sexagesimal(seconds / Math.max(pixels / 110, Math.min(5, pixels / 50)));
  return step < 60 ? sexagesimal(Math.max(step, (seconds * 64) / pixels)) : step; // with seconds a label is wider
}

function markLines(marks, time) {
  return marks
    .filter(([at]) => at > time.start && at <= time.end)
    .map(([at, kind, word]) => {
      const mark = svg("g", { class: `mark ${kind}` });
      const named = svg("title", {});
      named.textContent = `${word}, ${clock(at)} UTC`;
      const sign = svg("text", { x: time(at), y: kind === "verdict" ? PAD.top - 2 : HEIGHT - PAD.bottom + 4, "text-anchor": "middle" });
      sign.textContent = kind === "verdict" ? "\u25bc" : "\u25cf";
      mark.append(named, svg("line", { x1: time(at), x2: time(at), y1: PAD.top, y2: HEIGHT - PAD.bottom }), sign);
      return mark;
    });
}

/** Split samples into runs without a gap of more than GAP_SECONDS. */
function connected(samples) {
  const runs = [];
  for (const sample of samples) {
    if (runs.length && sample[0] - runs.at(-1).at(-1)[0] <= GAP_SECONDS) runs.at(-1).push(sample);
    else runs.push([sample]);
  }
  return runs;
}

/** Return the name of a curve with a piece of its line. */
function key(name) {
  const line = svg("svg", { class: "key", width: 22, height: 8, "aria-hidden": true });
  line.append(svg("path", { class: `curve ${name}`, d: "M1,4L21,4" }));
  return [" ", line, " ", text("small", name)];
}

function curve(samples, column, name, time, level) {
  const points = samples.map((sample) => `${time(sample[0]).toFixed(1)},${level(sample[column]).toFixed(1)}`);
  const [first, last] = [time(samples[0][0]).toFixed(1), time(samples.at(-1)[0]).toFixed(1)];
  if (points.length === 1) return [svg("circle", { class: "dot", cx: first, cy: level(samples[0][column]), r: 3 })];
  const drawn = svg("path", { class: `curve ${name}`, d: `M${points.join("L")}` });
  if (name !== "filled") return [drawn];
  return [svg("path", { class: "area", d: `M${first},${level(0)}L${points.join("L")}L${last},${level(0)}Z` }), drawn];
}

function nearest(samples, time, x) {
  const distance = (sample) => Math.abs(time(sample[0]) - x);
  return samples.length ? samples.reduce((one, other) => (distance(other) < distance(one) ? other : one)) : null;
}

function scale(start, end, from, to) {
  const place = (value) => from + ((value - start) / (end - start || 1)) * (to - from);
  return Object.assign(place, { start, end });
}

function decimal(least) {
  const size = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return size * STEPS.find((step) => size * step >= least);
}

function decimalFraction(least) {
  const size = 10 ** Math.floor(Math.log10(Math.max(least, 0.001)));
  return size * STEPS.find((step) => size * step >= least);
}

function sexagesimal(least) {
  return TIME_STEPS.find((step) => step >= least) ?? 86_400 * Math.ceil(least / 86_400);
}

function count(value) {
  if (value < 1e5) return Math.round(value).toLocaleString("en");
  return new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 }).format(value);
}

/** Return a rate in words: whole from 10 on, two digits below. */
function rate(perSecond) {
  return `${perSecond >= 10 ? count(perSecond) : Number(perSecond.toPrecision(2))}/s`;
}

/** Return the rates of a sample in words, without one that is unknown. */
function rates(sample) {
  const known = [[sample[4], "produced"], [sample[5], "consumed"]].filter(([value]) => value !== null);
  return known.map(([value, word]) => `${rate(value)} ${word}`).join(", ");
}

function duration(seconds) {
  if (seconds < 1) return seconds ? `${seconds.toFixed(1)} s` : "0";
  const units = [["d", 86_400], ["h", 3600], ["min", 60], ["s", 1]];
  const at = units.findIndex(([, size]) => seconds >= size);
  const parts = units.slice(at, at + 2).map(([unit, size], place) => {
    const whole = Math.floor((place ? seconds % units[at][1] : seconds) / size);
    return whole ? `${whole} ${unit}` : "";
  });
  return parts.filter(Boolean).join(" ");
}

/** Return a sample's time lag in words, with a mark if it is a lower bound. */
function atLeast([, , seconds, exact]) {
  return exact === false ? `\u2265\u202f${duration(seconds)}` : duration(seconds);
}

function clock(seconds) {
  return new Date(seconds * 1000).toISOString().slice(11, 19);
}

function label(words, attributes) {
  const made = svg("text", { class: "label", ...attributes });
  made.textContent = words;
  return made;
}

function text(tag, words) {
  const made = element(tag, {});
  made.textContent = words;
  return made;
}

function element(tag, attributes) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

function svg(tag, attributes) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}
