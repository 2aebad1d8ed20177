unpack().then((data) => {
  queryView(data);
  missesView(data);
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
});
