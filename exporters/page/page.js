// Keeps an open page fresh: asks the page's own address again for what it shows now, and puts that in place. Filters as
// one types, and gives the chart its numbers. What there is to see, and how it is worded, the server decides.

import { Chart } from "./chart.js";
import { patch } from "./view.js";

const VIEW_TYPE = "application/vnd.lagwarden.view+json";
const TYPING_MILLISECONDS = 150;
const ANSWER_MILLISECONDS = 15_000;

const main = document.getElementById("main");
const period = Number(main.dataset.seconds) * 1000;
const charts = new WeakMap();
let asked = 0;
let timer = 0;
let typing = 0;
let failingSince = null;

async function refresh() {
  clearTimeout(timer);
  const mine = ++asked;
  try {
    const view = await ask();
    if (mine !== asked) return; // a newer question is on its way
    show(view);
    failingSince = null;
    tell("");
  } catch (error) {
    if (mine !== asked) return;
    failingSince ??= new Date();
    tell(`No answer from lagwarden since ${failingSince.toLocaleTimeString()}: what you see is older. (${error.message})`);
  }
  timer = setTimeout(refresh, period);
}

async function ask() {
  const signal = AbortSignal.timeout(ANSWER_MILLISECONDS);
  const response = await fetch(location.href, { headers: { accept: VIEW_TYPE }, cache: "no-store", signal });
  const type = response.headers.get("content-type") ?? "";
  if (!type.startsWith(VIEW_TYPE)) throw new Error(`the answer is ${response.status}`);
  return response.json();
}

function show(view) {
  const before = headline();
  patch(main, view.main);
  document.title = view.title;
  const after = headline();
  if (before !== after) document.getElementById("said").textContent = after;
  const place = document.getElementById("chart");
  if (place === null) return;
  if (!charts.has(place)) charts.set(place, new Chart(place));
  charts.get(place).draw(view.samples, view.marks);
}

function headline() {
  return main.querySelector("h1")?.textContent ?? "";
}

function tell(trouble) {
  const line = document.getElementById("trouble");
  if (line.textContent !== trouble) line.textContent = trouble;
  line.hidden = trouble === "";
}

function filter(words) {
  const address = new URL(location.href);
  address.searchParams.delete("start");
  if (words) address.searchParams.set("filter", words);
  else address.searchParams.delete("filter");
  history.replaceState(null, "", address);
  refresh();
}

main.addEventListener("input", (event) => {
  if (event.target.id !== "filter") return;
  // A timer of its own: news that come in between must not swallow what was typed.
  clearTimeout(typing);
  typing = setTimeout(() => filter(event.target.value), TYPING_MILLISECONDS);
});
document.addEventListener("keydown", (event) => {
  const field = document.getElementById("filter");
  if (event.key !== "/" || field === null || event.target === field || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  field.focus();
});
document.addEventListener("visibilitychange", () => {
  // Nobody looks: nothing is asked. Who comes back sees what is now.
  if (document.hidden) clearTimeout(timer);
  else refresh();
});
refresh();
