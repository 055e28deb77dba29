// A dialog that finds everything by name, on every page, and the keys of the console.
(() => {
  const make = (tag, values = {}) => Object.assign(document.createElement(tag), values);
  // A dialog that was closed keeps the focus until the browser draws the page again.
  const isTyping = ({ target }) =>
    target instanceof Element &&
    !target.closest('dialog:not([open])') &&
    target.closest('input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]');

  function open(dialog) {
    dialog.className = 'palette';
    dialog.addEventListener('close', () => dialog.remove());
    // A click on the backdrop is one on the dialog itself.
    dialog.addEventListener('click', ({ target }) => target === dialog && dialog.close());
    document.body.append(dialog);
    dialog.showModal();
  }

  function openPalette() {
    if (document.querySelector('dialog[open]')) return;
    const dialog = make('dialog', { ariaLabel: 'Go anywhere' });
    const input = make('input', {
      type: 'text',
      placeholder: 'Go to a check, location, page or action',
      autocomplete: 'off',
    });
    input.role = 'combobox';
    input.ariaLabel = 'Name of a check, location, group, status page, page or action';
    input.ariaExpanded = 'true';
    input.ariaAutoComplete = 'list';
    input.setAttribute('aria-controls', 'palette-list');
    const results = make('div', { className: 'palette-results' });
    const hint = make('p', {
      className: 'palette-hint',
      textContent: '↑ ↓ to choose, Enter to open, Escape to close.',
    });
    const help = make('button', { className: 'link', type: 'button', textContent: 'All keys' });
    help.addEventListener('click', () => {
      dialog.close();
      openKeys();
    });
    hint.append(help);
    dialog.append(input, results, hint);
    let options = [];
    let at = 0;
    const choose = (next) => {
      options[at]?.setAttribute('aria-selected', 'false');
      at = options.length === 0 ? 0 : (next + options.length) % options.length;
      const option = options[at];
      option?.setAttribute('aria-selected', 'true');
      option?.scrollIntoView({ block: 'nearest' });
      input.setAttribute('aria-activedescendant', option?.id ?? '');
    };
    const show = (markup) => {
      results.innerHTML = markup;
      const list = results.querySelector('ul');
      if (list) {
        list.id = 'palette-list';
        list.role = 'listbox';
      }
      options = [...results.querySelectorAll('.found-entry')];
      for (const [index, option] of options.entries()) {
        option.parentElement.role = 'none';
        Object.assign(option, { id: `palette-${index}`, role: 'option', tabIndex: -1 });
        option.setAttribute('aria-selected', 'false');
      }
      choose(0);
    };
    let asked;
    const ask = async () => {
      asked?.abort();
      asked = new AbortController();
      const { signal } = asked;
      try {
        const query = new URLSearchParams({ q: input.value, part: 'list' });
        const answer = await fetch(`/search?${query}`, { signal });
        if (answer.redirected) location.href = '/login';
        else if (answer.ok) show(await answer.text());
        else throw new Error(`status ${answer.status}`);
      } catch {
        if (!signal.aborted) show('<p class="empty" role="status">The service does not respond.</p>');
      }
    };
    let timer;
    let isStale = false;
    let asking;
    const askNow = () => {
      clearTimeout(timer);
      isStale = false;
      asking = ask();
    };
    input.addEventListener('input', () => {
      clearTimeout(timer);
      isStale = true;
      timer = setTimeout(askNow, 60);
    });
    dialog.addEventListener('keydown', async (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!dialog.open || (step === undefined && event.key !== 'Enter')) return;
      event.preventDefault();
      if (step !== undefined) return choose(at + step);
      // Enter right after the last letter means its results, which are not here yet.
      if (isStale) askNow();
      await asking;
      options[at]?.click();
    });
    open(dialog);
    input.focus();
    askNow();
  }

  /** Speech input may say letters by accident: a browser can do without these keys. */
  const lettersName = 'picket-keys';
  function hasLetters() {
    try {
      return localStorage.getItem(lettersName) !== 'off';
    } catch {
      return true;
    }
  }
  function setLetters(isOn) {
    try {
      localStorage.setItem(lettersName, isOn ? 'on' : 'off');
    } catch {
      toast('This browser stores nothing for this page.');
    }
  }

  const keys = [
    ['Ctrl K, ⌘ K or /', 'Go anywhere'],
    ['j, k', 'Next, previous check of the overview'],
    ['Enter', 'Open the check'],
    ['x', 'Select the check, or not'],
    ['n', 'New check'],
    ['g o', 'Go to the overview'],
    ['g a', 'Go to the alerts'],
    ['g l', 'Go to the locations'],
    ['?', 'These keys'],
    ['Escape', 'Close'],
  ];
  function openKeys() {
    if (document.querySelector('dialog[open]')) return;
    const dialog = make('dialog', { ariaLabel: 'Keys' });
    const list = make('dl');
    for (const [key, does] of keys) {
      const name = make('dt');
      name.append(make('kbd', { textContent: key }));
      list.append(name, make('dd', { textContent: does }));
    }
    list.tabIndex = 0;
    const label = make('label', { textContent: 'Keys of one letter or sign' });
    const isOn = make('input', { type: 'checkbox', checked: hasLetters() });
    isOn.addEventListener('change', () => setLetters(isOn.checked));
    label.prepend(isOn);
    dialog.append(make('h2', { textContent: 'Keys' }), list, label);
    open(dialog);
  }

  const places = { o: '/', a: '/alerts', l: '/locations' };
  /** Until when a letter after `g` names a place. */
  let goesUntil = 0;
  const own = {
    '/': openPalette,
    '?': openKeys,
    n: () => {
      const { create } = document.querySelector('[data-palette]')?.dataset ?? {};
      if (create) location.href = create;
    },
    g: () => {
      goesUntil = performance.now() + 1_500;
    },
  };
  document.addEventListener('keydown', (event) => {
    const { key, ctrlKey, metaKey, altKey } = event;
    // Without a login there is nothing to go to.
    if (!document.querySelector('[data-palette]')) return;
    if ((ctrlKey || metaKey) && !altKey && key.toLowerCase() === 'k') {
      event.preventDefault();
      openPalette();
      return;
    }
    if (ctrlKey || metaKey || altKey || (event.repeat && key !== 'j' && key !== 'k')) return;
    if (isTyping(event) || !hasLetters() || document.querySelector('dialog[open]')) return;
    const goes = performance.now() < goesUntil && places[key];
    goesUntil = 0;
    const act = goes
      ? () => {
          location.href = goes;
        }
      : (own[key] ?? globalThis.tableKeys[key]);
    if (!act) return;
    event.preventDefault();
    act();
  });
  document.addEventListener('click', (event) => {
    if (!event.target.closest('[data-palette]') || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    openPalette();
  });
})();
