(() => {
  const svgOf = (name, attributes, text) => {
    const element = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const dayMs = 86_400_000;
  const offsetAt = (at) => new Date(at).getTimezoneOffset() * -60_000;
  const dates = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
  const clock = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' };
  const times = new Intl.DateTimeFormat('en-GB', clock);
  const instants = new Intl.DateTimeFormat('en-GB', {
    ...{ day: 'numeric', month: 'short', year: 'numeric', second: '2-digit' },
    ...clock,
  });
  const minutes = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', ...clock });

  /** Charts with listeners: live pages keep their elements. */
  const known = new WeakMap();
  const middleOf = ({ start, end }) => clamp((start + end) / 2);
  const clamp = (share) => Math.min(1, Math.max(0, share));

  /** Moves the labels of an axis to round times of the reader's zone. */
  function relabel(chart) {
    const [from, to, step] = ['from', 'to', 'step'].map((name) => Number(chart.dataset[name]));
    const [lines, labels] = ['.tick-lines', '.tick-labels'].map((name) => chart.querySelector(name));
    const ticks = [];
    const first = from + offsetAt(from);
    for (let local = Math.ceil(first / step) * step; ; local += step) {
      const at = local - offsetAt(local - offsetAt(from));
      if (at >= to) break;
      if (at < from) continue;
      const share = (at - from) / (to - from);
      ticks.push({ share, x: `${share * 100}%`, word: (local % dayMs === 0 ? dates : times).format(at) });
    }
    lines.replaceChildren(
      ...ticks.map(({ x }) => svgOf('line', { class: 'grid', x1: x, x2: x, y1: 0, y2: '100%' })),
    );
    // As in time-axis.ts: labels nearer to an end would leave the chart.
    const inside = ticks.filter(({ share }) => Math.abs(share - 0.5) < 0.485);
    labels.replaceChildren(
      ...inside.map(({ x, word }, index) =>
        svgOf('text', { class: index % 2 ? 'tick minor-tick' : 'tick', x, y: 13 }, word),
      ),
    );
  }

  /** The box of the cursor replaces tooltips, which would cover it. */
  function takeTitles(chart) {
    for (const title of chart.querySelectorAll('.item > title')) {
      const item = title.parentNode;
      item.dataset.said = title.textContent.slice(title.textContent.indexOf('\n') + 1);
      if (item.hasAttribute('href')) item.setAttribute('aria-label', title.textContent);
      title.remove();
    }
  }

  /** The items of a chart by lane, each with its place as shares of the plot. */
  function lanesOf(chart) {
    return ['.chart-back', '.lane-plot']
      .flatMap((name) => [...chart.querySelectorAll(name)])
      .map((plot) => {
        const lane = plot.closest('.lane');
        const items = [...plot.querySelectorAll('.item')].map((item) => {
          const hit = item.querySelector('.hit');
          const start = parseFloat(hit.getAttribute('x')) / 100;
          return { item, start, end: start + parseFloat(hit.getAttribute('width')) / 100 };
        });
        const name = lane?.querySelector('.lane-name')?.textContent ?? '';
        return { name, isMain: lane?.classList.contains('lane-main'), items };
      });
  }

  /** The items at a place: the nearest of each lane, if it is at most `reach` away. */
  function itemsAt(lanes, share, reach) {
    return lanes.flatMap(({ name, isMain, items }) => {
      let [best, least] = [undefined, reach];
      for (const one of items) {
        const distance = Math.max(one.start - share, share - one.end, 0);
        if (distance > least || (best && distance === least && distance > 0)) continue;
        [best, least] = [one, distance];
      }
      return best ? [{ ...best, name, isMain }] : [];
    });
  }

  function follow(chart) {
    let lanes = lanesOf(chart);
    let cursor;
    let selection;
    /** The bar where a selection by keys began. */
    let anchor;
    let isDown = false;
    let wasDragged = false;
    const [from, to] = [() => Number(chart.dataset.from), () => Number(chart.dataset.to)];
    const plot = () => chart.querySelector('.chart-front').getBoundingClientRect();
    const at = (share) => from() + share * (to() - from());

    const draw = () => {
      const [line, sheet, tip] = ['.cursor', '.brush', '.chart-tip'].map((name) => chart.querySelector(name));
      const [low, high] = selection ? [Math.min(...selection), Math.max(...selection)] : [0, 0];
      sheet.setAttribute('x', `${low * 100}%`);
      sheet.setAttribute('width', `${(high - low) * 100}%`);
      for (const item of chart.querySelectorAll('.at-cursor')) item.classList.remove('at-cursor');
      if (cursor === undefined) {
        delete chart.dataset.at;
        tip.hidden = true;
        return;
      }
      chart.dataset.at = cursor;
      line.setAttribute('x1', `${cursor * 100}%`);
      line.setAttribute('x2', `${cursor * 100}%`);
      const { width, left } = plot();
      const found = itemsAt(lanes, cursor, 5 / width);
      for (const { item } of found) item.classList.add('at-cursor');
      tip.replaceChildren(...wordsOf(found, high > low ? [at(low), at(high)] : undefined));
      tip.hidden = false;
      if (getComputedStyle(tip).position === 'static') return;
      const start = left - chart.getBoundingClientRect().left;
      const isRight = cursor > 0.5;
      tip.style.left = isRight ? 'auto' : `${start + cursor * width + 12}px`;
      tip.style.right = isRight ? `${chart.clientWidth - start - cursor * width + 12}px` : 'auto';
    };

    const wordsOf = (found, range) => {
      const head = document.createElement('b');
      const single = found.find(({ isMain }) => isMain) ?? found[0];
      head.textContent = range
        ? `${minutes.format(range[0])} to ${minutes.format(range[1])}: press Enter or release to zoom`
        : instants.format(single ? Number(single.item.dataset.at) : at(cursor));
      const list = document.createElement('ul');
      for (const { item, name } of found) {
        const entry = document.createElement('li');
        const href = item.getAttribute('href');
        const words = document.createElement(href ? 'a' : 'span');
        if (href) words.href = href;
        words.textContent = item.dataset.said;
        if (name && name !== 'Runs') entry.append(`${name}: `);
        entry.append(words);
        list.append(entry);
      }
      return [head, list];
    };

    const zoom = () => {
      const [low, high] = [Math.min(...selection), Math.max(...selection)];
      if (high === low) return;
      const url = new URL(chart.dataset.zoom, location.href);
      url.searchParams.set('from', new Date(Math.round(at(low))).toISOString());
      url.searchParams.set('to', new Date(Math.round(at(high))).toISOString());
      location.href = url.href;
    };
    const shareOf = ({ clientX }) => {
      const { left, width } = plot();
      return clamp((clientX - left) / width);
    };
    const isInPlot = ({ clientX, target }) => clientX >= plot().left && !target.closest('.chart-tip');
    const open = () => {
      const found = itemsAt(lanes, cursor, 5 / plot().width).filter(({ item }) => item.getAttribute('href'));
      const chosen = found.find(({ isMain }) => isMain) ?? found[0];
      if (chosen) location.href = chosen.item.getAttribute('href');
    };

    chart.addEventListener('pointerdown', (event) => {
      wasDragged = false;
      if (event.button !== 0 || !isInPlot(event)) return;
      if (event.pointerType === 'touch') {
        cursor = shareOf(event);
        draw();
      } else if (chart.dataset.zoom) {
        isDown = true;
        selection = [shareOf(event), shareOf(event)];
      }
    });
    chart.addEventListener('dragstart', (event) => event.preventDefault());
    chart.addEventListener('pointermove', (event) => {
      if (!isInPlot(event)) return;
      cursor = shareOf(event);
      if (isDown) {
        selection[1] = cursor;
        wasDragged = Math.abs(selection[1] - selection[0]) >= 0.005;
      }
      draw();
    });
    addEventListener('pointerup', () => {
      if (!isDown) return;
      isDown = false;
      if (wasDragged) zoom();
      else selection = undefined;
    });
    chart.addEventListener('pointerleave', ({ pointerType }) => {
      if (isDown || pointerType === 'touch') return;
      cursor = undefined;
      draw();
    });
    // A click at the end of a drag would follow the link below it; a tap shows the values, with links of their own.
    chart.addEventListener(
      'click',
      (event) => {
        const isTap = event.pointerType === 'touch' && !event.target.closest('.chart-tip');
        if (wasDragged || isTap) event.preventDefault();
      },
      true,
    );
    chart.addEventListener('keydown', (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (event.target !== chart) return;
      if (event.key === 'Escape') [cursor, selection, anchor] = [];
      else if (event.key === 'Enter' && selection) zoom();
      else if (event.key === 'Enter' && cursor !== undefined) open();
      else if (step === undefined) return;
      else {
        const [here, next] = stopsAt(step);
        if (!next) return;
        if (!event.shiftKey || !chart.dataset.zoom) [selection, anchor] = [];
        else {
          anchor ??= here ?? next;
          selection = [Math.min(anchor.start, next.start), Math.max(anchor.end, next.end)].map(clamp);
        }
        cursor = middleOf(next);
      }
      event.preventDefault();
      draw();
    });

    /** The bar of the main lanes at the cursor, or the column, and the next or the previous one. */
    const stopsAt = (step) => {
      const main = lanes.filter(({ isMain, items }) => isMain && items.length > 0);
      const stops = (main.length > 0 ? main : lanes)
        .flatMap(({ items }) => items)
        .sort((one, two) => step * (middleOf(one) - middleOf(two)));
      if (cursor === undefined) return [undefined, stops[0]];
      const here = stops.find((stop) => Math.abs(middleOf(stop) - cursor) < 1e-6);
      return [here, stops.find((stop) => step * (middleOf(stop) - cursor) > 1e-6)];
    };

    return () => {
      lanes = lanesOf(chart);
      draw();
    };
  }

  /** Shows the times of a form in the reader's zone, and sends them with their offset. Updates keep what was typed. */
  function zoned(form) {
    const fields = [...form.querySelectorAll('input[type=datetime-local]')];
    for (const name of form.querySelectorAll('[data-zone-name]')) {
      name.textContent = Intl.DateTimeFormat().resolvedOptions().timeZone;
    }
    for (const field of fields) {
      const at = Date.parse(`${field.getAttribute('value')}Z`);
      field.value = known.get(field) ?? new Date(at + offsetAt(at)).toISOString().slice(0, 16);
    }
    if (known.has(form)) return;
    known.set(form, true);
    form.addEventListener('input', ({ target }) => known.set(target, target.value));
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      const query = new URLSearchParams(new FormData(form));
      for (const { name, value } of fields) query.set(name, new Date(value).toISOString());
      location.href = `${form.action}?${query}`;
    });
  }

  document.addEventListener('arranged', () => {
    for (const form of document.querySelectorAll('form[data-zoned]')) zoned(form);
    for (const chart of document.querySelectorAll('.chart[data-step]')) {
      takeTitles(chart);
      relabel(chart);
      if (known.has(chart)) known.get(chart)();
      else known.set(chart, follow(chart));
    }
  });
})();
