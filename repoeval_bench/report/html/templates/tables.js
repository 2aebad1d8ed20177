// Sorting by a column's button: values where they are given, else text.
function sortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = head.querySelector("button");
    if (!button) return;
    button.addEventListener("click", () => {
      const value = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
      const rows = [...table.tBodies[0].rows];
      const numeric = rows.some((row) => row.cells[column].dataset.value !== undefined && !Number.isNaN(Number(value(row))));
      const first = head.dataset.first || (numeric ? "descending" : "ascending");
      const now = head.getAttribute("aria-sort");
      const next = now === null ? first : now === "ascending" ? "descending" : "ascending";
      const sign = next === "ascending" ? 1 : -1;
      rows.sort((a, b) => {
        const [x, y] = [value(a), value(b)];
        if (!numeric) return sign * x.localeCompare(y, "en", { numeric: true });
        const missing = [x, y].map((text) => text === "" || Number.isNaN(Number(text)));
        if (missing[0] || missing[1]) return missing[0] - missing[1];
        return sign * (Number(x) - Number(y));
      });
      heads.forEach((each) => each.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", next);
      table.tBodies[0].append(...rows);
    });
  });
}
document.querySelectorAll("table.sortable").forEach(sortable);

// A table that is wider than its box says so, and fades where it goes on.
const sized = new ResizeObserver((entries) => entries.forEach((entry) => cue(entry.target)));
function cue(box) {
  const beyond = box.scrollWidth - box.clientWidth;
  box.classList.toggle("wide", beyond > 1);
  box.classList.toggle("beyond", beyond - box.scrollLeft > 1);
}
document.querySelectorAll(".scroll").forEach((box) => {
  box.addEventListener("scroll", () => cue(box), { passive: true });
  sized.observe(box);
});
