(() => {
  /** Buttons with `data-copy-from` copy the text of that element: it is on the page already. */
  document.addEventListener(
    'click',
    ({ target }) => {
      const button = target.closest('[data-copy-from]');
      if (!button) return;
      const source = document.querySelector(button.dataset.copyFrom);
      const lines = [...source.querySelectorAll('li')];
      const isShown = (line) => line.offsetParent !== null;
      const text = (element) => element.textContent.replaceAll(/\s*\n\s*/g, ' ').trim();
      // copy.js copies it; without a clipboard, it is selected.
      if (!navigator.clipboard) getSelection().selectAllChildren(source);
      button.dataset.copy =
        lines.length > 0 ? lines.filter(isShown).map(text).join('\n') : source.textContent;
    },
    true,
  );

  /** Chosen levels by log: an update of the page keeps them. */
  const chosen = new Map();

  function showLevels() {
    for (const [id, least] of chosen) {
      const log = document.getElementById(id);
      if (log) log.dataset.least = least;
      for (const button of document.querySelectorAll(`[data-log="${id}"]`)) {
        button.ariaPressed = String(button.dataset.least === least);
      }
    }
  }

  document.addEventListener('click', ({ target }) => {
    const button = target.closest('[data-log]');
    if (!button) return;
    chosen.set(button.dataset.log, button.dataset.least);
    showLevels();
  });
  document.addEventListener('arranged', showLevels);

  /** Folds that the reader opened or closed: an update gives them the state that the service sends. */
  const folds = new Map();

  document.addEventListener('click', ({ target }) => {
    const fold = target.closest('summary')?.parentElement;
    // The browser opens or closes it after this event.
    if (fold) folds.set(fold, !fold.open);
  });
  document.addEventListener('arranged', () => {
    for (const [fold, isOpen] of folds) {
      if (!fold.isConnected) folds.delete(fold);
      else if (!fold.matches('.menu, .confirm')) fold.open = isOpen;
    }
  });
})();
