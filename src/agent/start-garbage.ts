/** How long what begins with a start goes on. */
const settleMs = 5_000;

/**
 * Starting leaves garbage behind, as much as what is kept, and in a thread that waits nothing ever collects it. This
 * does, once, some seconds from now; nothing without `--expose-gc`, which the images give.
 */
export function collectStartGarbage(): void {
  const { gc } = globalThis;
  if (!gc) return;
  // As V8 does when there is no memory left: all garbage, and what the heap keeps for later.
  setTimeout(() => gc({ type: 'major', execution: 'sync', flavor: 'last-resort' }), settleMs).unref();
}
