(() => {
  /** Sends the form to its preview shortly after the last change. */
  let timer;
  function preview() {
    clearTimeout(timer);
    timer = setTimeout(() => {
      const button = document.querySelector('[formtarget="preview"]');
      if (button) button.form.requestSubmit(button);
    }, 700);
  }
  document.addEventListener('input', (event) => {
    if (event.target.form?.querySelector('[formtarget="preview"]')) preview();
  });

  document.addEventListener('arranged', preview);
})();
