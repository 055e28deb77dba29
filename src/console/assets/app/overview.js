// The table of checks: selection, deleting with undo, folded groups, saved filters, and keys. live.js updates the page
// in place: each row keeps its element, so that a checkbox keeps its state.
(() => {
  const rows = () =>
    [...document.querySelectorAll('.check:not(.is-deleted)')].filter((row) => row.offsetParent);
  const boxes = () => rows().flatMap((row) => row.querySelector('.check-pick input') ?? []);
  const bulk = () => document.querySelector('#bulk');

  function showSelection() {
    const all = boxes();
    // Only rows in sight are changed: those of folded groups lose their selection.
    for (const box of document.querySelectorAll('.check .check-pick :checked'))
      box.checked = all.includes(box);
    const count = all.filter(({ checked }) => checked).length;
    const [form, every] = [bulk(), document.querySelector('[data-pick-all]')];
    if (every) {
      every.checked = count > 0 && count === all.length;
      every.indeterminate = count > 0 && count < all.length;
    }
    if (!form) return;
    form.classList.toggle('is-open', count > 0);
    const text = `${count} selected`;
    const output = form.querySelector('.bulk-count');
    if (output.textContent !== text) output.textContent = text;
  }

  // A browser that goes back restores checkboxes.
  addEventListener('pageshow', showSelection);

  /** With the Shift key, a click selects every row from the one clicked before. */
  let lastPicked;
  document.addEventListener('click', ({ target, shiftKey }) => {
    if (!(target instanceof HTMLInputElement) || !target.closest('.check-pick')) return;
    const all = boxes();
    if ('pickAll' in target.dataset) for (const box of all) box.checked = target.checked;
    const [from, to] = [all.indexOf(lastPicked), all.indexOf(target)];
    if (shiftKey && from >= 0 && to >= 0) {
      for (const box of all.slice(Math.min(from, to), Math.max(from, to) + 1)) box.checked = target.checked;
    }
    lastPicked = target;
    showSelection();
  });

  /** Ids of checks whose deletion was not sent yet, or not answered: their rows are hidden. */
  const deleted = new Set();
  const waiting = new Set();
  function hideDeleted() {
    for (const id of deleted) document.getElementById(`check-${id}`)?.classList.add('is-deleted');
  }
  function show(ids) {
    for (const id of ids) {
      deleted.delete(id);
      document.getElementById(`check-${id}`)?.classList.remove('is-deleted');
    }
    showSelection();
  }
  const counted = (count) => (count === 1 ? '1 check' : `${count} checks`);

  /** Hides the selected checks, and sends their deletion some seconds later, unless it is undone. */
  function deleteLater(form) {
    const ids = boxes().flatMap(({ checked, value }) => (checked ? [value] : []));
    const sent = new URLSearchParams({ csrf: form.elements.csrf.value, do: 'delete', sure: 'yes' });
    for (const id of ids) {
      sent.append('check', id);
      deleted.add(id);
    }
    for (const box of boxes()) box.checked = false;
    const send = async () => {
      if (!waiting.delete(send)) return;
      try {
        // keepalive: the request survives the page.
        const headers = { accept: 'application/json' };
        const answer = await fetch('/checks/selected', {
          method: 'POST',
          body: sent,
          headers,
          keepalive: true,
        });
        if (!answer.ok) throw new Error(`status ${answer.status}`);
        const { refusals } = await answer.json();
        show(refusals.map(({ id }) => id));
        for (const { name, reason } of refusals) toast(`${name} was not deleted: ${reason}`, { seconds: 12 });
      } catch {
        show(ids);
        toast('The checks were not deleted. Reload the page, and try again.', { seconds: 12 });
      }
    };
    const undo = () => {
      waiting.delete(send);
      show(ids);
    };
    waiting.add(send);
    hideDeleted();
    showSelection();
    toast(`${counted(ids.length)} deleted.`, { undo, done: send, seconds: 8 });
  }
  addEventListener('pagehide', () => {
    for (const send of [...waiting]) send();
  });
  document.addEventListener('submit', (event) => {
    if (event.target !== bulk() || event.submitter?.value !== 'delete') return;
    event.preventDefault();
    deleteLater(event.target);
  });

  /** What this browser keeps; storage may be off, or hold something else. */
  function kept(name, empty) {
    try {
      return JSON.parse(localStorage.getItem(name)) ?? empty;
    } catch {
      return empty;
    }
  }
  function keep(name, value) {
    try {
      localStorage.setItem(name, JSON.stringify(value));
    } catch {
      toast('This browser stores nothing for this page.');
    }
  }

  const foldsName = 'picket-folds';
  document.addEventListener('click', ({ target }) => {
    const group = target.closest('.check-group > summary')?.parentElement;
    if (!group) return;
    // The click is handled before the group opens or closes.
    setTimeout(() => {
      keep(foldsName, { ...kept(foldsName, {}), [group.id]: group.open });
      showSelection();
    });
  });
  function fold() {
    const folds = kept(foldsName, {});
    for (const group of document.querySelectorAll('.check-group')) {
      const isOpen = folds[group.id];
      if (typeof isOpen === 'boolean' && group.open !== isOpen) group.open = isOpen;
    }
  }

  const filtersName = 'picket-filters';
  const queryNow = () => {
    const query = new URLSearchParams(location.search);
    query.delete('page');
    for (const [name, value] of [...query]) if (value === '') query.delete(name);
    return String(query);
  };
  /** Shows the saved filters as chips, and offers to save the current ones. */
  function showFilters() {
    const area = document.querySelector('#saved-filters');
    if (!area || area.contains(document.activeElement)) return;
    const saved = kept(filtersName, []).filter(({ name, query } = {}) => name && query);
    const now = queryNow();
    const element = (tag, values = {}) => Object.assign(document.createElement(tag), values);
    const chips = saved.map(({ name, query }) => {
      const chip = element('span', { className: 'saved-one' });
      const link = element('a', { className: 'tag', href: `/?${query}`, textContent: name });
      if (query === now) link.ariaCurrent = 'true';
      const forget = element('button', { className: 'button bare', type: 'button', textContent: '×' });
      forget.ariaLabel = `Remove the saved filter ${name}`;
      forget.addEventListener('click', () => {
        keep(
          filtersName,
          saved.filter((one) => one.name !== name),
        );
        forget.blur();
        showFilters();
      });
      chip.append(link, forget);
      return chip;
    });
    area.replaceChildren(...chips);
    if (now === '' || saved.some(({ query }) => query === now)) return;
    const offer = element('button', {
      className: 'button bare',
      type: 'button',
      textContent: 'Save these filters',
    });
    offer.addEventListener('click', () => {
      const form = element('form');
      const input = element('input', { name: 'name', required: true, maxLength: 40, placeholder: 'Name' });
      input.ariaLabel = 'Name of these filters';
      const end = () => {
        input.blur();
        form.remove();
        showFilters();
      };
      form.append(input, element('button', { className: 'button', textContent: 'Save' }));
      form.addEventListener('submit', (event) => {
        event.preventDefault();
        const name = input.value.trim();
        if (name === '') return;
        keep(filtersName, [...saved.filter((one) => one.name !== name), { name, query: queryNow() }]);
        end();
      });
      form.addEventListener('keydown', ({ key }) => key === 'Escape' && end());
      offer.replaceWith(form);
      input.focus();
    });
    area.append(offer);
  }

  /** Moves by rows: the focus is on the link of a row, so that Enter opens it. */
  function move(by) {
    const all = rows();
    const at = all.findIndex((row) => row.contains(document.activeElement));
    const next = at < 0 ? all.at(by > 0 ? 0 : -1) : all[at + by];
    next?.querySelector('.check-link').focus();
    next?.scrollIntoView({ block: 'nearest' });
  }
  function pick() {
    const box = document.activeElement?.closest('.check')?.querySelector('.check-pick input');
    if (!box) return;
    box.checked = !box.checked;
    lastPicked = box;
    showSelection();
  }
  globalThis.tableKeys = { j: () => move(1), k: () => move(-1), x: pick };

  /** A browser may lose the focus of a row that an update moves. */
  let focused;
  document.addEventListener('htmx:before:swap', () => {
    focused = document.activeElement?.closest('.check')?.id;
  });
  document.addEventListener('arranged', () => {
    hideDeleted();
    fold();
    showSelection();
    showFilters();
    if (focused && document.activeElement === document.body) {
      document.getElementById(focused)?.querySelector('.check-link').focus({ preventScroll: true });
    }
    focused = undefined;
  });
})();
