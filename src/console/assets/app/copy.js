(() => {
  /** The older way, for origins without TLS: browsers offer them no clipboard. */
  function copySelected(text) {
    const area = document.createElement('textarea');
    area.value = text;
    area.className = 'hidden';
    document.body.append(area);
    area.select();
    const isCopied = document.execCommand('copy');
    area.remove();
    return isCopied;
  }

  /** Buttons with `data-copy` copy its text, and say so. */
  document.addEventListener('click', async ({ target }) => {
    const button = target.closest('[data-copy]');
    if (!button) return;
    const text = button.dataset.copy;
    const written = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error('no clipboard'));
    const isCopied = await written.then(
      () => true,
      () => copySelected(text),
    );
    button.focus();
    toast(
      isCopied ? 'Copied.' : 'This browser does not allow copying here. Select the text and press Ctrl+C.',
    );
  });
  document.addEventListener('click', ({ target }) => {
    const open = target.closest('details.menu');
    for (const menu of document.querySelectorAll('details.menu[open]')) {
      if (menu !== open) menu.open = false;
    }
  });
  document.addEventListener('keydown', (event) => {
    const menu = event.key === 'Escape' && document.querySelector('details.menu[open]');
    if (!menu) return;
    menu.open = false;
    menu.querySelector('summary').focus();
  });
})();
