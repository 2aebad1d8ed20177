// A link into a folded part unfolds it, and paper shows all of them.
function unfold() {
  const asked = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  if (!asked) return;
  for (let part = asked.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
  asked.scrollIntoView();
}
window.addEventListener("hashchange", unfold);
document.querySelectorAll("nav a").forEach((link) => link.addEventListener("click", () => link.hash === location.hash && unfold()));
window.addEventListener("beforeprint", () => document.querySelectorAll("details.part").forEach((part) => { part.open = true; }));

const packed = Uint8Array.from(atob(document.getElementById("data").textContent), (byte) => byte.charCodeAt(0));
new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).json().then((data) => {
  askedView(data);
  queryView(data);
  missesView(data);
  unfold();
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
});
