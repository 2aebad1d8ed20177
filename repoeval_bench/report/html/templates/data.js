"use strict";
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

// A long name breaks after : , and / alone, and at no hyphen or dash of a short piece.
function breakable(text) {
  return text.split(/(?<=[:/])(?=\w)|(?<=,)(?=[A-Za-z_])/).flatMap((part, at) => {
    const piece = part.length <= 32 && /[-–]/.test(part) && !part.includes(" ") ? make("span", { class: "whole" }, part) : part;
    return at ? [make("wbr"), piece] : [piece];
  });
}

function option(value, text) {
  return make("option", { value }, text);
}

// A file's path within its repository.
const path = (file) => file.replace(/^[^/]*\//, "");

function excerpt(data, file, start, end, limit = 60) {
  const pre = make("pre", { class: "excerpt", tabindex: 0, role: "group", "aria-label": `${file} from line ${start + 1}` });
  pre.append(...data.files[file].slice(start, Math.min(end, start + limit)).map((line) => `${line}\n`));
  if (end - start > limit) pre.append(make("span", { class: "more" }, `… ${end - start - limit} more lines`));
  return pre;
}

const span = (start, end) => (start === null ? "" : `:${start + 1}–${end}`);

// Retrieved chunks, best first; each opens to its code.
function hitList(data, hits, label) {
  const list = make("ol", { class: "hits", "aria-label": label });
  if (!hits || !hits.length) list.append(make("li", { class: "plain-hit soft" }, "nothing retrieved"));
  (hits || []).forEach(([where, start, end, relevant, score], i) => {
    const line = [make("b", {}, `${i + 1}`), relevant ? " ✓ " : " ", `${start === null ? where : path(where)}${span(start, end)} `,
      make("span", { class: "soft" }, score.toFixed(3))];
    if (relevant) line.push(make("span", { class: "hidden" }, " relevant"));
    const row = make("li", { class: relevant ? "yes" : null });
    if (data.files[where] && start !== null) {
      const details = make("details", {}, make("summary", {}, ...line));
      details.addEventListener("toggle", () => {
        if (details.open && details.children.length === 1) details.append(excerpt(data, where, start, end, 200));
      });
      row.append(details);
    } else row.append(make("div", { class: "plain-hit" }, ...line));
    list.append(row);
  });
  return list;
}
