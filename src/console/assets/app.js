// Enhancements of pages that also work without scripts: local times, filters without a button, and live updates.
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

  /** Charts with listeners: live pages keep their elements. */
  const brushed = new WeakSet();

  /** Shows times in the reader's zone, and UTC in the tooltip. */
  function showTimes(root) {
    for (const element of root.querySelectorAll('time[datetime]:not([data-ago], [data-day])')) {
      const at = new Date(element.dateTime);
      const isToday = at.toDateString() === new Date().toDateString();
      const usual = isToday ? formats.today : formats.day;
      element.textContent = ('short' in element.dataset ? formats.short : usual).format(at);
    }
    for (const element of root.querySelectorAll('[data-zone]')) element.textContent = `Times are ${zone}`;
  }

  /**
   * Makes a range of a chart selectable by pointer or keys, and shows it. The selection is a share of the plot, 0 to 1;
   * the chart itself provides the overlay.
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
    // A click at the end of a drag would follow the link of the column below it.
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

  /** Shows line numbers next to a script field; both scroll together. */
  const numbered = new WeakMap();
  function numberLines(area) {
    // A page updated in place may keep the area without its surroundings.
    numbered.get(area)?.abort();
    const over = new AbortController();
    numbered.set(area, over);
    const { signal } = over;
    const numbers = document.createElement('pre');
    numbers.className = 'line-numbers';
    numbers.ariaHidden = 'true';
    const sheet = document.createElement('div');
    sheet.className = 'numbered';
    area.replaceWith(sheet);
    sheet.append(numbers, area);
    const count = () => {
      const lines = area.value.split('\n').length;
      if (numbers.dataset.lines !== String(lines)) {
        numbers.dataset.lines = lines;
        numbers.textContent = Array.from({ length: lines }, (_, index) => index + 1).join('\n');
      }
      numbers.scrollTop = area.scrollTop;
    };
    area.addEventListener('input', count, { signal });
    area.addEventListener('scroll', count, { signal });
    count();
    // Tab indents; after Escape it moves to the next field, as elsewhere.
    let leaves = false;
    const setLeaves = (value) => {
      leaves = value;
    };
    area.addEventListener('blur', () => setLeaves(false), { signal });
    const onKey = (event) => {
      if (event.key === 'Escape') setLeaves(true);
      if (event.key !== 'Tab' || leaves || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      indent(area, event.shiftKey);
      count();
    };
    area.addEventListener('keydown', onKey, { signal });
  }

  /** Indents or unindents each selected line by two spaces; without a selection, inserts two spaces at the caret. */
  function indent(area, isLess) {
    const { selectionStart: from, selectionEnd: to, value } = area;
    const insert = (text) => document.execCommand('insertText', false, text);
    if (from === to && !isLess) return insert('  ');
    const start = value.lastIndexOf('\n', from - 1) + 1;
    const lines = value.slice(start, to);
    const changed = lines.replace(isLess ? /^ {1,2}/gm : /^/gm, isLess ? '' : '  ');
    if (changed === lines) return;
    area.setSelectionRange(start, to);
    insert(changed);
    area.setSelectionRange(from === to ? start + changed.length : start, start + changed.length);
  }

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

  /** Sends the form to its preview shortly after the last change. */
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

  /** Runs after each update of the page. */
  function arrange() {
    showTimes(document);
    for (const chart of document.querySelectorAll('[data-brush]')) {
      if (!brushed.has(chart)) brush(chart);
    }
    for (const area of document.querySelectorAll('textarea[data-code]')) {
      if (!area.closest('.numbered')) numberLines(area);
    }
    if (document.querySelector('[data-unfinished]')) setTimeout(refresh, 1_000);
    preview();
  }

  arrange();
  document.addEventListener('htmx:after:swap', arrange);
  const live = document.body.dataset.live;
  if (live) follow(live);
})();
