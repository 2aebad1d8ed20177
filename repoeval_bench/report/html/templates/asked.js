// The commits that asked: the lines that each changed, and what every candidate shows first; a few rows at a time.
const ROWS = 25, COLUMNS = 6;

function askedView(data) {
  const [table, more] = ["asked-table", "asked-more"].map((id) => document.getElementById(id));
  if (!table) return;
  const runs = data.runs.slice(0, COLUMNS);
  const heads = ["query", "target lines", ...runs.map((_, at) => runKey(data, at))];
  table.tHead.append(make("tr", { role: "row" }, ...heads.map((head) => make("th", { scope: "col", role: "columnheader", class: "text part" }, head))));

  const place = (where, start, end) =>
    make("span", { class: "spec" }, ...breakable(`${start === null ? where : path(where)}${span(start, end)}`));

  // On a narrow screen a row is a block, and each cell has its column's name.
  const label = (...name) => make("span", { class: "label", "aria-hidden": "true" }, ...name);

  function row(query) {
    const [commit, date, subject] = query.asked;
    const link = make("a", { href: `#query=${encodeURIComponent(query.id)}` }, subject || commit.slice(0, 12));
    const gold = [...query.gold.map((lines) => [query.file, ...lines]), ...query.elsewhere];
    const cells = runs.map((_, at) => {
      const [first] = query.top[at], score = query.scores[at][0];
      return make("td", { role: "cell", class: "text part" }, label(...breakable(data.runs[at].short)), score === null ? "–" : score.toFixed(2), first && first[3] ? " ✓" : "",
        first ? place(...first) : make("span", { class: "spec" }, "nothing retrieved"));
    });
    return make("tr", { role: "row" }, make("th", { scope: "row", role: "rowheader", class: "text part" }, link, make("span", { class: "spec" }, `${commit.slice(0, 12)} of ${date}`)),
      make("td", { role: "cell", class: "text part" }, label("target lines"), ...gold.map((each) => place(...each))), ...cells);
  }

  function show() {
    const shown = table.tBodies[0].rows.length;
    table.tBodies[0].append(...data.queries.slice(shown, shown + ROWS).map(row));
    const left = data.queries.length - table.tBodies[0].rows.length;
    more.hidden = !left;
    more.textContent = `${Math.min(left, ROWS)} more of ${data.queries.length} queries`;
  }
  more.addEventListener("click", show);
  show();
}
