(() => {
  /** Charts with listeners: live pages keep their elements. */
  const brushed = new WeakSet();

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

  document.addEventListener('arranged', () => {
    for (const chart of document.querySelectorAll('[data-brush]')) {
      if (!brushed.has(chart)) brush(chart);
    }
  });
})();
