"use strict";
// The page's data: gzip in base64, unpacked once, shown as text and never as markup.
async function unpack() {
  const word = document.getElementById("data").textContent;
  const bytes = Uint8Array.from(atob(word), (char) => char.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function runKey(data, at) {
  return make("span", { class: `run${data.runs[at].look}`, title: data.runs[at].name }, make("span", { class: "key" }), ...breakable(data.runs[at].short));
}

// A long name breaks after its punctuation, and never inside a word.
function breakable(text) {
  return text.split(/(?<=[:,=/])(?=\w)/).flatMap((part, at) => (at ? [make("wbr"), part] : [part]));
}

function option(value, text) {
  return make("option", { value }, text);
}

// A file's lines and the syntax runs of each, made on first use.
function linesOf(file) {
  if (file.lines || file.text === undefined) return file.lines;
  file.lines = file.text.split("\n");
  file.spans = file.lines.map(() => []);
  let line = 0, column = 0;
  for (const [, letter, digits] of file.syntax.matchAll(/([a-z])(\d+)/g)) {
    let left = Number(digits);
    while (left > 0 && line < file.lines.length) {
      const room = file.lines[line].length - column;
      if (left <= room) { file.spans[line].push([letter, left]); column += left; left = 0; }
      else { if (room) file.spans[line].push([letter, room]); left -= room + 1; line += 1; column = 0; }
    }
  }
  return file.lines;
}

// One line as nodes, coloured; what was cut from it is said.
function codeLine(file, at) {
  const nodes = [];
  const text = file.lines[at];
  let from = 0;
  for (const [letter, length] of file.spans[at]) {
    const piece = text.slice(from, from + length);
    nodes.push(letter === "p" ? piece : make("span", { class: letter }, piece));
    from += length;
  }
  if (from < text.length) nodes.push(text.slice(from));
  if (file.cut && file.cut[at]) nodes.push(make("span", { class: "more" }, ` … ${file.cut[at].toLocaleString("en")} characters`));
  return nodes;
}

function excerpt(file, start, end, limit = 60) {
  const pre = make("pre", { class: "excerpt", tabindex: 0, role: "region", "aria-label": `${file.name} from line ${start + 1}` });
  const lines = linesOf(file);
  for (let at = start; at < Math.min(end, start + limit, lines.length); at++) pre.append(...codeLine(file, at), "\n");
  if (end - start > limit) pre.append(make("span", { class: "more" }, `… ${end - start - limit} more lines`));
  return pre;
}

const span = (start, end) => (start === null ? "" : `:${start + 1}–${end}`);

// Retrieved chunks, best first; each opens to its code.
function hitList(data, hits, label) {
  const list = make("ol", { class: "hits", "aria-label": label });
  if (!hits || !hits.length) list.append(make("li", { class: "plain-hit soft" }, "nothing retrieved"));
  (hits || []).forEach(([where, start, end, relevant, score], i) => {
    const file = typeof where === "number" ? data.files[where] : null;
    const line = [make("b", {}, `${i + 1}`), relevant ? " ✓ " : " ", `${file ? file.name.replace(/^[^/]*\//, "") : where}${span(start, end)} `,
      make("span", { class: "soft" }, score.toFixed(3))];
    if (relevant) line.push(make("span", { class: "hidden" }, " relevant"));
    const row = make("li", { class: relevant ? "yes" : null });
    if (file && file.text !== undefined && start !== null) {
      const details = make("details", {}, make("summary", {}, ...line));
      details.addEventListener("toggle", () => {
        if (details.open && details.children.length === 1) details.append(excerpt(file, start, end, 200));
      });
      row.append(details);
    } else row.append(make("div", { class: "plain-hit" }, ...line));
    list.append(row);
  });
  return list;
}
