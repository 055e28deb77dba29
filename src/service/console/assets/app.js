// What pages do beyond what they show without scripts: times of the reader's zone, filters without a button,
// and pages that follow what happens.
(() => {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const formats = {
    day: new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' }),
    short: new Intl.DateTimeFormat(undefined, {
      month: 'short',
      day: 'numeric',
      hour: '2-digit',
      minute: '2-digit',
    }),
    today: new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' }),
  };

  /** Charts that are listened to: pages that follow what happens keep their elements. */
  const brushed = new WeakSet();

  /** Times in the reader's zone; UTC stays at hand in the tooltip. */
  function showTimes(root) {
    for (const element of root.querySelectorAll('time[datetime]:not([data-ago])')) {
      const at = new Date(element.dateTime);
      const isToday = at.toDateString() === new Date().toDateString();
      const usual = isToday ? formats.today : formats.day;
      element.textContent = ('short' in element.dataset ? formats.short : usual).format(at);
    }
    for (const element of root.querySelectorAll('[data-zone]')) element.textContent = `Times are ${zone}`;
  }

  /**
   * Lets a stretch of a chart be chosen, by pointer or by keys, and shows it. What is chosen is a share of the
   * plot, 0 to 1; the sheet drawn over it is the chart's own.
   */
  function brush(chart) {
    brushed.add(chart);
    const { from, to, left } = chart.dataset;
    const [svg, sheet] = [chart.querySelector('svg'), chart.querySelector('.brush')];
    const [width, margin] = [svg.viewBox.baseVal.width, Number(left)];
    let [start, end] = [0, 0];
    let isDown = false;
    const draw = () => {
      const [low, high] = [Math.min(start, end), Math.max(start, end)];
      sheet.setAttribute('x', (margin + low * (1 - margin)) * width);
      sheet.setAttribute('width', (high - low) * (1 - margin) * width);
    };
    const shareOf = ({ clientX }) => {
      const { x, width: shown } = svg.getBoundingClientRect();
      return Math.min(1, Math.max(0, ((clientX - x) / shown - margin) / (1 - margin)));
    };
    const show = () => {
      const [low, high] = [Math.min(start, end), Math.max(start, end)];
      if (high - low < 0.005) return;
      const at = (share) => new Date(Math.round(Number(from) + share * (to - from))).toISOString();
      location.href = `${chart.dataset.brush}?${new URLSearchParams({ from: at(low), to: at(high) })}`;
    };
    svg.addEventListener('pointerdown', (event) => {
      if (event.button !== 0 || event.pointerType === 'touch') return;
      isDown = true;
      start = end = shareOf(event);
    });
    svg.addEventListener('dragstart', (event) => event.preventDefault());
    svg.addEventListener('pointermove', (event) => {
      if (!isDown) return;
      end = shareOf(event);
      draw();
    });
    addEventListener('pointerup', () => {
      if (!isDown) return;
      isDown = false;
      show();
    });
    // A click at the end of a drag would follow the column below it.
    svg.addEventListener('click', (event) => Math.abs(end - start) >= 0.005 && event.preventDefault(), true);
    chart.addEventListener('keydown', (event) => {
      const step = { ArrowLeft: -0.02, ArrowRight: 0.02 }[event.key];
      if (event.key === 'Escape') start = end = 0;
      else if (event.key === 'Enter' && start !== end) show();
      else if (step === undefined) return;
      else if (start === end) [start, end] = step > 0 ? [0, step] : [1 + step, 1];
      else if (event.shiftKey) start = Math.min(1, Math.max(0, start + step));
      else end = Math.min(1, Math.max(0, end + step));
      event.preventDefault();
      draw();
    });
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

  /** Sends what a form holds into its preview, a moment after the last change. */
  let timer;
  function preview() {
    clearTimeout(timer);
    timer = setTimeout(() => {
      const button = document.querySelector('[formtarget="preview"]');
      if (button) button.form.requestSubmit(button);
    }, 700);
  }
  document.addEventListener('input', (event) => {
    if (event.target.form?.querySelector('[formtarget="preview"]')) preview();
  });

  /** After each state of the page. */
  function arrange() {
    showTimes(document);
    for (const chart of document.querySelectorAll('[data-brush]')) {
      if (!brushed.has(chart)) brush(chart);
    }
    if (document.querySelector('[data-unfinished]')) setTimeout(refresh, 1_000);
    preview();
  }

  arrange();
  document.addEventListener('htmx:after:swap', arrange);
  const live = document.body.dataset.live;
  if (live) follow(live);
})();
