// Enhancements of pages that also work without scripts. Each file listens for `arranged`, which live.js sends once the
// page is loaded and after each of its updates.
(() => {
  document.documentElement.dataset.script = '';
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const parts = new Intl.DateTimeFormat('en-GB', {
    year: 'numeric',
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  });

  /** The one format of instants in the reader's zone, as in `12 Nov 2026, 09:30:05`; `short` has no year and seconds. */
  function textOf(at, isShort) {
    const of = Object.fromEntries(parts.formatToParts(at).map(({ type, value }) => [type, value]));
    const day = `${of.day} ${of.month}`;
    const time = `${of.hour}:${of.minute}`;
    return isShort ? `${day}, ${time}` : `${day} ${of.year}, ${time}:${of.second}`;
  }

  /** Shows times in the reader's zone, with UTC in the tooltip; ages have both in the tooltip. */
  function showTimes() {
    for (const element of document.querySelectorAll('time[datetime]:not([data-day])')) {
      const at = new Date(element.dateTime);
      const { dataset } = element;
      dataset.utc ??= element.title;
      if ('ago' in dataset) {
        element.title = `${textOf(at, false)} (${dataset.utc})`;
        element.tabIndex = 0;
      } else {
        element.textContent = textOf(at, 'short' in dataset);
        element.title = dataset.utc;
      }
    }
    for (const element of document.querySelectorAll('[data-zone]')) element.textContent = `Times are ${zone}`;
  }
  document.addEventListener('arranged', showTimes);
})();
