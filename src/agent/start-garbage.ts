/** How long what begins with a start goes on. */
const settleMs = 5_000;

/**
 * Starting leaves garbage behind, as much as what is kept, and in a thread that waits nothing ever collects it. This
 * does, once, some seconds from now, as V8 does when there is no memory left: all garbage, and what the heap keeps for
 * later. The inspector is asked for it: with `--expose-gc` V8 drops what Node brings along compiled, in every thread.
 */
export function collectStartGarbage(): void {
  setTimeout(() => {
    // Loaded when it is needed, by nobody else.
    const { Session } = process.getBuiltinModule('node:inspector');
    const session = new Session();
    session.connect();
    // The inspector holds a lock while it answers: a session that ends then waits for itself.
    session.post('HeapProfiler.collectGarbage', () => setImmediate(() => session.disconnect()));
  }, settleMs).unref();
}
