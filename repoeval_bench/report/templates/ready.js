document.querySelectorAll("table.sortable").forEach(sortable);
document.documentElement.dataset.ready = String(Math.round(performance.now()));
