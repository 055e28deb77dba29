(() => {
  /** Buttons with `data-copy` copy its text, and say so. */
  document.addEventListener('click', async (event) => {
    const button = event.target.closest('[data-copy]');
    if (!button) return;
    const text = button.dataset.copy;
    try {
      await navigator.clipboard.writeText(text);
      toast('Copied.');
    } catch {
      // Browsers offer the clipboard to secure origins only: the text is selected instead.
      const source = button.parentElement.querySelector('pre, code, input');
      if (source) getSelection().selectAllChildren(source);
      toast('This browser does not allow copying here. The text is selected: press Ctrl+C.');
    }
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
