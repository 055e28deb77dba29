(() => {
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

  document.addEventListener('arranged', () => {
    for (const area of document.querySelectorAll('textarea[data-code]')) {
      if (!area.closest('.numbered')) numberLines(area);
    }
  });
})();
