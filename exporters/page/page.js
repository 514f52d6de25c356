// Updates an open page: requests the view of the page's own URL and applies it. Filters while the user types, and
// passes the samples to the chart. The server decides on content and wording.

import { Chart } from "./chart.js";
import { patch } from "./view.js";

const VIEW_TYPE = "application/vnd.lagwarden.view+json";
const TYPING_MILLISECONDS = 150;
const ANSWER_MILLISECONDS = 15_000;

const main = document.getElementById("main");
const period = Number(main.dataset.seconds) * 1000;
const charts = new WeakMap();
let requests = 0;
let timer = 0;
let typing = 0;
let failingSince = null;

async function refresh() {
  clearTimeout(timer);
  const request = ++requests;
  try {
    const view = await requestView();
    if (request !== requests) return; // a newer request is running
    show(view);
    failingSince = null;
    showError("");
  } catch (error) {
    if (request !== requests) return;
    failingSince ??= new Date();
    showError(`No response from lagwarden since ${failingSince.toLocaleTimeString()}: the page is out of date. (${error.message})`);
  }
  timer = setTimeout(refresh, period);
}

async function requestView() {
  const signal = AbortSignal.timeout(ANSWER_MILLISECONDS);
  const response = await fetch(location.href, { headers: { accept: VIEW_TYPE }, cache: "no-store", signal });
  const type = response.headers.get("content-type") ?? "";
  if (!type.startsWith(VIEW_TYPE)) throw new Error(`status ${response.status}`);
  return response.json();
}

function show(view) {
  const previous = headline();
  patch(main, view.main);
  for (const place of main.querySelectorAll("span[data-root]")) place.textContent ||= ` --url ${address(place.dataset.root)}`;
  document.title = view.title;
  const icon = document.querySelector("link[rel=icon]");
  if (icon.getAttribute("href") !== view.icon) icon.setAttribute("href", view.icon);
  const current = headline();
  if (previous !== current) document.getElementById("announcement").textContent = current;
  const place = document.getElementById("chart");
  if (place === null) return;
  if (!charts.has(place)) charts.set(place, new Chart(place));
  charts.get(place).draw(view.samples, view.marks);
}

/** Return the address of lagwarden, of which a page knows the relative path, as one word for a shell. */
function address(root) {
  const { origin, pathname } = new URL(root, location.href);
  // A URL has no quotation marks in its host, and here none in its path.
  const text = `${origin}${pathname.replace(/\/$/, "").replaceAll("'", "%27")}`;
  return /^[\w.:/%~-]+$/.test(text) ? text : `'${text}'`;
}

function headline() {
  return main.querySelector("h1")?.textContent ?? "";
}

function showError(message) {
  const line = document.getElementById("connection-error");
  if (line.textContent !== message) line.textContent = message;
  line.hidden = message === "";
}

/** Put the inputs of the form into the address, so that it reproduces what the page shows. */
function filter(form) {
  const address = new URL(location.href);
  address.searchParams.delete("start");
  for (const { name, value } of form.querySelectorAll("input[type=search]")) {
    if (value) address.searchParams.set(name, value);
    else address.searchParams.delete(name);
  }
  address.searchParams.delete("team"); // an earlier name of `owner`
  history.replaceState(null, "", address);
  refresh();
}

main.addEventListener("input", (event) => {
  if (event.target.type !== "search") return;
  // A separate timer: an update in between must not discard the input.
  clearTimeout(typing);
  typing = setTimeout(() => filter(event.target.form), TYPING_MILLISECONDS);
});
main.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-copies]");
  if (button !== null) copy(document.getElementById(button.dataset.copies));
});

/** Copy the text of an element. Without access to the clipboard (plain http), select it for the user's own copy. */
async function copy(source) {
  const announcement = document.getElementById("announcement");
  try {
    await navigator.clipboard.writeText(source.textContent);
    announcement.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(source);
    announcement.textContent = "Selected";
  }
}
document.addEventListener("keydown", (event) => {
  const field = document.getElementById("filter");
  if (event.key !== "/" || field === null || event.target === field || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  field.focus();
});
document.addEventListener("visibilitychange", () => {
  // A hidden page requests nothing; a page that becomes visible is updated at once.
  if (document.hidden) clearTimeout(timer);
  else refresh();
});
refresh();
