(() => {
  const nameIn = {
    url: (text) => {
      const url = URL.parse(text);
      return url?.host ? `${url.host}${url.pathname.replace(/\/$/, '')}` : '';
    },
    test: (text) => /\btest\(\s*(['"`])(.+?)\1/.exec(text)?.[2] ?? '',
    text: (text) => text.trim().split('\n', 1)[0],
  };

  /** Completes the scheme of a URL, as the service does. */
  function complete(input) {
    const text = input.value.trim();
    if (/^(?:localhost|[\w-]+(?:\.[\w-]+)+|[\w-]+(?=:\d))(?::\d+)?(?:[/?#]|$)/.test(text)) {
      input.value = `${input.dataset.scheme}://${text}`;
    }
  }

  /** Shows the name that a check without one will get. */
  function showName() {
    const name = document.querySelector('[data-name-after]');
    const source = name && document.getElementById(name.dataset.nameAfter);
    if (!source) return;
    const made = nameIn[name.dataset.nameSource](source.value).slice(0, 80).trim();
    if (made) name.placeholder = made;
  }

  document.addEventListener('change', ({ target }) => {
    if (target.dataset?.scheme) complete(target);
    showName();
  });
  document.addEventListener('input', ({ target }) => {
    const name = document.querySelector('[data-name-after]');
    if (name && target.id === name.dataset.nameAfter) showName();
  });

  /** Adds the text of an input as a chip before it. */
  function addChip(input) {
    const value = input.value.trim().replace(/,$/, '').trim();
    const { chips: name } = input.parentElement.dataset;
    const known = [...input.parentElement.querySelectorAll('input[type=checkbox]')];
    const same = known.find((one) => one.value === value);
    input.value = '';
    if (value === '') return;
    if (same) {
      same.checked = true;
      return;
    }
    const box = Object.assign(document.createElement('input'), {
      ...{ type: 'checkbox', name, value, checked: true },
      id: `${input.id}-${known.length}`,
    });
    const label = Object.assign(document.createElement('label'), { htmlFor: box.id, textContent: value });
    const chip = Object.assign(document.createElement('span'), { className: 'chip' });
    chip.append(box, label);
    input.before(chip);
  }

  const adder = (target) => (target.closest?.('[data-chips]') && target.type !== 'checkbox' ? target : null);
  document.addEventListener('keydown', (event) => {
    const input = adder(event.target);
    if (input && (event.key === 'Enter' || event.key === ',') && input.value.trim() !== '') {
      event.preventDefault();
      addChip(input);
    }
    // Enter in a search finds, and does not save.
    if (event.key === 'Enter' && 'find' in (event.target.dataset ?? {})) {
      event.preventDefault();
      event.target.nextElementSibling.click();
    }
  });
  document.addEventListener('change', ({ target }) => {
    const input = adder(target);
    if (input) addChip(input);
  });

  /** Sends a chosen file, and selects it in its field. */
  async function upload(input) {
    const { upload: to, for: field, csrf } = input.dataset;
    const hint = input.parentElement.querySelector('[role=status]');
    const [file] = input.files;
    if (!file) return;
    hint.textContent = `Uploading ${file.name} …`;
    try {
      const headers = { 'content-type': 'application/gzip', 'x-csrf': csrf };
      const response = await fetch(to, { method: 'POST', headers, body: file });
      const { key, word, message } = await response.json();
      if (!key) throw new Error(message);
      const select = document.getElementById(field);
      if (![...select.options].some(({ value }) => value === key)) select.add(new Option(word, key));
      select.value = key;
      hint.textContent = `${file.name} is uploaded and selected.`;
    } catch (thrown) {
      hint.textContent = `${file.name} was not uploaded. ${thrown.message}`;
    }
    input.value = '';
  }
  document.addEventListener('change', ({ target }) => target.dataset?.upload && upload(target));

  /** A template is used as soon as it is selected. */
  document.addEventListener('change', ({ target }) => {
    if (target.name === '$template' && target.value !== '') {
      target.closest('.templates').querySelector('button').click();
    }
  });
  document.addEventListener('arranged', showName);
})();
