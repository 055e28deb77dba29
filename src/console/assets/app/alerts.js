(() => {
  /** Folds and unfolds the checks of an alert. */
  document.addEventListener('click', ({ target }) => {
    const button = target.closest('.alert-toggle');
    if (!button) return;
    const isOpen = button.closest('.alert').classList.toggle('alert-open');
    button.setAttribute('aria-expanded', String(isOpen));
  });
})();
