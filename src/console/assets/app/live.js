(() => {
  /** Replaces the content of the page by its current state; focus and open details stay. */
  function refresh(news) {
    const target = document.querySelector('#main');
    if (!target || target.querySelector('dialog[open]')) return;
    const headers = news ? { 'x-picket-news': news } : {};
    htmx.ajax('GET', location.href, { target: '#main', select: '#main', swap: 'outerMorph', headers });
  }

  /** Listens while the page is visible: a hidden one would only occupy a connection. */
  function follow(url) {
    let source;
    const start = () => {
      if (document.hidden || source) return;
      source = new EventSource(url);
      source.addEventListener('change', (event) => refresh(event.data));
    };
    document.addEventListener('visibilitychange', () => {
      if (document.hidden) {
        source?.close();
        source = undefined;
        return;
      }
      start();
      refresh();
    });
    addEventListener('pagehide', () => source?.close());
    start();
  }

  document.addEventListener('arranged', () => {
    // An update replaces the content only.
    const { title, icon } = document.querySelector('#main')?.dataset ?? {};
    if (title && document.title !== title) document.title = title;
    const link = document.querySelector('link[rel=icon]');
    if (icon && link.getAttribute('href') !== icon) link.href = icon;
    if (document.querySelector('[data-unfinished]')) setTimeout(refresh, 1_000);
  });
  const arrange = () => document.dispatchEvent(new Event('arranged'));
  arrange();
  document.addEventListener('htmx:after:swap', arrange);
  const live = document.body.dataset.live;
  if (live) follow(live);
})();
