/**
 * Shows a short message for some seconds. With `undo`, it has a button that ends it by calling that; `done` is called
 * if it ends without.
 */
globalThis.toast = function toast(message, { undo, done, seconds = 5 } = {}) {
  const list = document.querySelector('.toasts') ?? document.body.appendChild(document.createElement('div'));
  list.className = 'toasts';
  const element = document.createElement('div');
  element.className = 'toast';
  element.role = 'status';
  const text = document.createElement('p');
  text.textContent = message;
  element.append(text);
  const end = (how) => {
    clearTimeout(timer);
    element.remove();
    how?.();
  };
  if (undo) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = 'Undo';
    button.addEventListener('click', () => end(undo));
    element.append(button);
  }
  const timer = setTimeout(() => end(done), seconds * 1_000);
  list.append(element);
};
// Messages that the service has sent with the page disappear, too.
for (const sent of document.querySelectorAll('.toast[data-sent]')) setTimeout(() => sent.remove(), 6_000);
