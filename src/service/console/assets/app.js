// What pages do beyond what they show without scripts: times of the reader's zone, filters without a button,
// and pages that follow what happens.
(() => {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const formats = {
    day: new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' }),
    today: new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' }),
  };

  /** Times in the reader's zone; UTC stays at hand in the tooltip. */
  function showTimes(root) {
    for (const element of root.querySelectorAll('time[datetime]:not([data-ago])')) {
      const at = new Date(element.dateTime);
      const isToday = at.toDateString() === new Date().toDateString();
      element.textContent = (isToday ? formats.today : formats.day).format(at);
    }
    for (const element of root.querySelectorAll('[data-zone]')) element.textContent = `Times are ${zone}`;
  }

  /** Puts the present state of this page in the place of what is shown; focus and open details stay. */
  function refresh() {
    const target = document.querySelector('#main');
    if (!target || target.querySelector('dialog[open]')) return;
    htmx.ajax('GET', location.href, { target: '#main', select: '#main', swap: 'outerMorph' });
  }

  /** Listens while the page can be seen: hidden ones would only take a connection. */
  function follow(url) {
    let source;
    const start = () => {
      if (document.hidden || source) return;
      source = new EventSource(url);
      source.addEventListener('change', refresh);
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

  /** After each state of the page. */
  function arrange() {
    showTimes(document);
    if (document.querySelector('[data-unfinished]')) setTimeout(refresh, 1_000);
  }

  arrange();
  document.addEventListener('htmx:after:swap', arrange);
  const live = document.body.dataset.live;
  if (live) follow(live);
})();
