// Creates elements from trees, [tag, {attribute: value}, [child, …]] or text, and updates existing elements to match.
// Nothing is ever parsed as HTML: text becomes text nodes, and only the elements and attributes listed below are created.

const TAGS = new Set(
  `a abbr article b bdi br button code dd details div dl dt em form h1 h2 input label li nav noscript ol p pre progress
  section small span strong summary table tbody td th thead tr ul`.split(/\s+/),
);
const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "path"]);
const ATTRIBUTES = new Set(
  `action autocomplete class d for height hidden href id max name open placeholder rel role scope spellcheck start tabindex
  title type value viewBox width`.split(/\s+/),
);

/** Update the children of an element to match the trees. Elements with data-keep and the focus are preserved. */
export function patch(parent, trees) {
  const focused = document.activeElement;
  updateChildren(parent, trees);
  if (focused !== document.activeElement && parent.contains(focused)) focused.focus({ preventScroll: true });
}

function updateChildren(parent, trees) {
  const keyed = new Map();
  for (const child of parent.children) if (child.dataset.key !== undefined) keyed.set(child.dataset.key, child);
  let at = parent.firstChild;
  for (const tree of trees) {
    const found = keyed.get(tree[1]?.["data-key"]) ?? at;
    if (matches(found, tree)) {
      keyed.delete(tree[1]?.["data-key"]);
      if (found === at) at = at.nextSibling;
      else parent.insertBefore(found, at);
      update(found, tree);
    } else {
      parent.insertBefore(build(tree), at);
    }
  }
  while (at !== null) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

/** Return whether a node can be updated to match a tree: the same type of node, tag, key and id. */
function matches(node, tree) {
  if (node === null) return false;
  if (typeof tree === "string") return node.nodeType === Node.TEXT_NODE;
  if (node.nodeType !== Node.ELEMENT_NODE || node.localName !== tree[0]) return false;
  return node.dataset.key === tree[1]["data-key"] && node.id === (tree[1].id ?? "");
}

function update(node, tree) {
  if (typeof tree === "string") {
    if (node.data !== tree) node.data = tree;
    return;
  }
  const [, attributes, children] = tree;
  if ("data-keep" in attributes) return;
  const differs = (name) => name !== "open" && node.getAttribute(name) !== (attributes[name] ?? null); // the user folds
  for (const { name } of [...node.attributes]) if (!(name in attributes) && differs(name)) node.removeAttribute(name);
  for (const [name, value] of Object.entries(attributes)) if (differs(name)) set(node, name, value);
  updateChildren(node, children);
}

function build(tree) {
  if (typeof tree === "string") return document.createTextNode(tree);
  const [tag, attributes, children] = tree;
  if (!TAGS.has(tag) && !SVG_TAGS.has(tag)) throw new Error(`element not allowed: ${tag}`);
  const node = SVG_TAGS.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) set(node, name, value);
  // The content of noscript is not needed here.
  if (tag !== "noscript") node.append(...children.map(build));
  return node;
}

function set(node, name, value) {
  if (!ATTRIBUTES.has(name) && !/^(aria|data)-[a-z]+$/.test(name)) throw new Error(`attribute not allowed: ${name}`);
  // Relative links, and those that the configuration names: no link may run a script.
  if (name === "href" && /^[^/?#.]*:/.test(value) && !/^https?:\/\//.test(value)) throw new Error("only links to http(s)");
  node.setAttribute(name, value);
}
