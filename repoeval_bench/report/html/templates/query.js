// Inspect a query: the list, and for one query the file with its gold, its chunks in lanes, and what was read.
const LINE = 18;

function queryView(data) {
  const byId = (id) => document.getElementById(id);
  const [search, measure, order, repo, wins, list, count, detail] =
    ["q-search", "q-measure", "q-order", "q-repo", "q-wins", "q-list", "q-count", "q-detail"].map(byId);
  const number = (query, run) => query.scores[run][measure.selectedIndex];
  const known = (query) => data.runs.map((_, run) => number(query, run)).filter((value) => value !== null);
  const mean = (query) => known(query).reduce((a, b) => a + b, 0) / Math.max(1, known(query).length);
  const spread = (query) => Math.max(...known(query)) - Math.min(...known(query));

  function winner(query) {
    const values = data.runs.map((_, run) => number(query, run) ?? -1);
    const best = Math.max(...values);
    const at = values.map((value, run) => [value, run]).filter(([value]) => best - value < 1e-9);
    return at.length === 1 ? at[0][1] : "tie";
  }

  data.measures.forEach((name) => measure.append(option(name, name)));
  [["worst", "worst first"], ["spread", "largest difference first"], ["stored", "as stored"]].forEach((each) => order.append(option(...each)));
  repo.append(option("", "all"));
  [...new Set(data.queries.map((query) => query.repo))].sort().forEach((name) => repo.append(option(name, name)));
  wins.append(option("", "any"));
  if (data.runs.length > 1) {
    data.runs.forEach((run, at) => wins.append(option(at, run.short)));
    wins.append(option("tie", "tie"));
  }

  let current = null;
  function listed() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const text = (query) => `${query.id} ${query.file || ""} ${(query.text || []).join("")}`.toLowerCase();
    const found = data.queries.filter((query) =>
      (!repo.value || query.repo === repo.value) &&
      (!wins.value || String(winner(query)) === wins.value) &&
      (!words.length || ((all) => words.every((word) => all.includes(word)))(text(query))));
    if (order.value === "worst") found.sort((a, b) => mean(a) - mean(b));
    if (order.value === "spread") found.sort((a, b) => spread(b) - spread(a));
    return found;
  }

  function show() {
    const found = listed();
    count.textContent = `${found.length} of ${data.queries.length} queries`;
    list.replaceChildren(...found.map((query) => {
      const scores = data.runs.map((run, at) => make("span", { class: `run${run.look}`, title: run.name }, make("span", { class: "key" }),
        number(query, at) === null ? "–" : number(query, at).toFixed(2)));
      const button = make("button", { type: "button", tabindex: -1, "data-query": query.id, "aria-current": query === current && "true" },
        query.id, make("span", { class: "mini" }, query.asked?.[2] || path(query.file || "")), make("span", { class: "mini" }, ...scores));
      button.addEventListener("click", () => open(query, true));
      return make("li", {}, button);
    }));
    reachable();
    return found;
  }

  // One button of the list is reached by tab, the others from it by arrow keys.
  function reachable() {
    const buttons = [...list.querySelectorAll("button")];
    buttons.forEach((each) => each.setAttribute("tabindex", -1));
    (buttons.find((each) => each.hasAttribute("aria-current")) || buttons[0])?.setAttribute("tabindex", 0);
  }

  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const buttons = [...list.querySelectorAll("button")];
    const next = buttons[buttons.indexOf(document.activeElement) + step];
    if (!step || !next) return;
    event.preventDefault();
    next.focus();
  });

  function open(query, chosen) {
    current = query;
    list.querySelectorAll("[aria-current]").forEach((each) => each.removeAttribute("aria-current"));
    list.querySelector(`[data-query="${CSS.escape(query.id)}"]`)?.setAttribute("aria-current", "true");
    reachable();
    detail.replaceChildren(...inspection(data, query));
    aim();
    if (chosen) {
      history.replaceState(null, "", `#query=${encodeURIComponent(query.id)}`);
      if (window.innerWidth <= 760) detail.scrollIntoView();
    }
  }

  // What is folded cannot scroll: this is done again when the part is unfolded.
  function aim() {
    const query = current;
    if (!query) return;
    const viewer = detail.querySelector(".viewer");
    if (viewer) viewer.scrollTop = Math.max(0, ((query.gold[0] || query.body)[0] - 4) * LINE);
    // Show the place where the model began or stopped to read.
    const text = detail.querySelector(".query-text"), cut = text?.querySelector(query.text[0] ? "span" : "del");
    if (cut) text.scrollTop = Math.max(0, cut.offsetTop - text.offsetTop - 0.6 * text.clientHeight);
  }

  function follow() {
    let asked = (location.hash.match(/^#query=(.*)/) || [])[1] || "";
    try { asked = decodeURIComponent(asked); } catch { /* a % that encodes nothing: the id may hold it as it is */ }
    const query = data.queries.find((each) => each.id === asked);
    if (query) {
      byId("queries").open = true;
      open(query, false);
      byId("queries").scrollIntoView();
      detail.querySelector("h3").focus({ preventScroll: true }); // tab goes on from here, not from the link
    }
    return query;
  }

  search.addEventListener("input", show);
  [measure, order, repo, wins].forEach((each) => each.addEventListener("change", show));
  window.addEventListener("hashchange", follow);
  byId("queries").addEventListener("toggle", aim, { once: true });
  const found = show();
  if (!follow() && found.length) open(found[0], false);
}

function inspection(data, query) {
  const nodes = [make("h3", { class: "wrap", tabindex: -1 }, query.id), summary(data, query)];
  if (query.asked) {
    const [commit, date, subject] = query.asked;
    nodes.push(make("p", { class: "wrap wide" }, "subject of commit ", make("code", {}, commit.slice(0, 12)), ` of ${date}${subject ? `: ${subject}` : ""}`));
  }
  nodes.push(...definitionTable(data, query));
  if (data.files[query.file]) nodes.push(...source(data, query));
  nodes.push(...queryText(query));
  nodes.push(make("h3", {}, "Retrieved"), make("div", { class: "columns" }, ...data.runs.map((run, at) =>
    make("div", {}, make("p", {}, runKey(data, at)), hitList(data, query.top[at], `retrieved by ${run.short}`)))));
  return nodes;
}

// What each run scored here, the rank of its first relevant chunk, and how many are relevant.
function summary(data, query) {
  const head = ["run", ...data.measures, "first relevant", "relevant"].map((text, i) => make("th", { scope: "col", class: i ? null : "text" }, text));
  const rows = data.runs.map((run, at) => make("tr", {}, make("th", { scope: "row" }, runKey(data, at)),
    ...query.scores[at].map((value) => make("td", {}, value === null ? "–" : value.toFixed(3))),
    make("td", {}, query.first[at] ? `rank ${query.first[at]}` : "not retrieved"), make("td", {}, `${query.relevant[at]}`)));
  return make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Scores of this query" },
    make("table", { "aria-label": "Scores of this query" }, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows)));
}

function source(data, query) {
  const lines = data.files[query.file];
  const rows = lines.map((line, at) => {
    const gold = query.gold.some(([start, end]) => at >= start && at < end);
    const hole = !query.asked && at >= query.body[0] && at < query.body[1];
    return make("span", { class: `l${gold ? " gold" : ""}${hole ? " hole" : ""}` }, make("span", { class: "no" }, `${at + 1}`), line);
  });
  const lanes = data.runs.map((run, at) => lane(data, query, at, lines.length)).filter(Boolean);
  const viewer = make("div", { class: "viewer", tabindex: 0, role: "region", "aria-label": `Source of ${query.file}` },
    make("div", { class: "body" }, lanes.length ? make("div", { class: "lanes" }, ...lanes) : null, make("pre", { class: "lines" }, ...rows)));
  const swatch = (kind, text) => make("span", {}, make("span", { class: `swatch ${kind}` }), text);
  const legend = make("div", { class: "legend" }, ...data.runs.map((_, at) => runKey(data, at)), swatch("gold", "target lines"),
    swatch("top", "in the top 10, with its rank"), swatch("found", "ranked lower"), swatch("", "not retrieved"), swatch("relevant", "relevant"));
  return [make("p", { class: "wrap wide" }, make("code", {}, query.file), ` · ${goldWords(data, query)}${query.asked ? "" : `; lines ${query.body[0] + 1}–${query.body[1]} are to be written`}`), legend, viewer];
}

// The places of the gold in words: of the query's own file first.
function goldWords(data, query) {
  const range = ([start, end]) => `${start + 1}–${end}`;
  const others = new Set(query.elsewhere.map(([file]) => file)).size;
  const here = query.gold.length ? `target lines ${query.gold.map(range).join(", ")}` : "no target line is in this file";
  return others ? `${here}; more are in ${others} other file${others > 1 ? "s" : ""}` : here;
}

// The definitions that the lines to be written use: where each is, and at which rank each run has a chunk with it.
function definitionTable(data, query) {
  if (!query.definitions) return [];
  const head = ["definition", "kind", "resolved", "where", "distance", ...data.runs.map((run) => run.short)];
  const rows = query.definitions.map(([name, kind, tier, file, lines, far, ranks]) => {
    const title = `${path(file)}:${lines.map(([start, end]) => `${start + 1}–${end}`).join(", ")}`;
    const place = make("details", {}, make("summary", {}, title));
    place.addEventListener("toggle", () => {
      if (place.open && place.children.length === 1 && data.files[file]) lines.forEach(([start, end]) => place.append(excerpt(data, file, start, end)));
    });
    return make("tr", {}, make("th", { scope: "row" }, make("code", {}, name)), make("td", { class: "text" }, kind), make("td", { class: "text" }, tier),
      make("td", { class: "text" }, place), make("td", {}, `${far}`), ...ranks.map((rank) => make("td", {}, rank === null ? "not retrieved" : `rank ${rank}`)));
  });
  return [make("h3", {}, "Target definitions"), make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Target definitions" },
    make("table", { class: "definitions" }, make("thead", {}, make("tr", {}, ...head.map((text, at) => make("th", { scope: "col", class: at < 4 ? "text" : null }, text)))), make("tbody", {}, ...rows)))];
}

// One run's chunks of the file as boxes beside the lines.
function lane(data, query, at, height) {
  const chunks = query.lanes[at];
  if (!chunks) return null;
  return make("div", { class: `lane run${data.runs[at].look}`, style: `height:${height * LINE}px` }, ...chunks.map(([start, end, rank, relevant]) => {
    const place = rank ? `, rank ${rank}` : rank === null ? "" : ", not retrieved";
    const words = `${data.runs[at].short}: lines ${start + 1}–${end}${place}${relevant ? ", relevant" : ""}`;
    return make("div", { class: `chunk${rank ? (rank <= 10 ? " top" : " found") : ""}${relevant ? " relevant" : ""}`, title: words,
      style: `top:${start * LINE + 1}px;height:${Math.max(4, (end - start) * LINE - 2)}px` }, make("span", {}, rank ? `${rank}` : ""));
  }));
}

// The query: what the model did not read is struck out.
function queryText(query) {
  if (!query.text) return [];
  const pre = make("pre", { class: "query-text", tabindex: 0, role: "region", "aria-label": "Query text" });
  query.text.forEach((piece, at) => { if (piece) pre.append(make(at === 1 ? "span" : "del", {}, piece)); });
  const share = query.share !== undefined &&
    make("p", { class: "soft" }, `The model read ${(100 * query.share).toFixed(0)}\u00a0% of its characters; the rest is struck out.`);
  return [make("h3", {}, "Query"), ...(share ? [share] : []), pre];
}
