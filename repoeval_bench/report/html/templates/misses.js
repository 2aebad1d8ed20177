// Queries with no relevant chunk in the top ten: their target lines beside what came instead.
function missesView(data) {
  const [select, count, list] = ["m-run", "m-count", "m-list"].map((id) => document.getElementById(id));
  data.runs.forEach((run, at) => select.append(option(at, run.short)));

  function fill(query, at) {
    const places = query.file ? [...query.gold.map((span) => [query.file, ...span]), ...query.elsewhere] : [];
    const wanted = data.files[query.file] ? make("div", {}, ...places.flatMap(([where, start, end]) => [
      make("p", { class: "mini wrap" }, `${path(where)}:${start + 1}–${end}`), excerpt(data, where, start, end)]))
      : make("p", { class: "soft" }, "The page has no sources.");
    const column = (title, node) => make("div", {}, make("p", {}, make("b", {}, title)), node);
    return make("div", {}, make("p", {}, make("a", { href: `#query=${encodeURIComponent(query.id)}`, "aria-label": `inspect ${query.id}` }, "inspect")),
      make("div", { class: "columns" }, column("Target lines", wanted),
        column("Top 10", hitList(data, query.top[at], "top 10"))));
  }

  function show() {
    const at = Number(select.value);
    const missed = data.queries.filter((query) => !query.top[at].some((hit) => hit[3]));
    count.textContent = `${missed.length} of ${data.queries.length} queries missed by ${data.runs[at].short}`;
    list.replaceChildren(...missed.map((query) => {
      const rank = query.first[at] ? `first relevant at rank ${query.first[at]}` : "nothing relevant retrieved";
      const others = data.runs.filter((_, other) => other !== at && query.top[other].some((hit) => hit[3])).map((run) => run.short);
      const details = make("details", { class: "miss" }, make("summary", {}, query.id, " ",
        make("span", { class: "soft" }, `${rank}${others.length ? `; in the top 10 of ${others.join(", ")}` : ""}`)));
      details.addEventListener("toggle", () => {
        if (details.open && details.children.length === 1) details.append(fill(query, at));
      });
      return details;
    }));
  }
  select.addEventListener("change", show);
  show();
}
