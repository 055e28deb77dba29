/** How long work of the start may continue. */
const settleMs = 5_000;

/**
 * Starting leaves as much garbage as live data, and in an idle thread V8 never collects it. This does so once, a few
 * seconds from now, as V8 does when memory is exhausted: it frees all garbage and the heap's unused pages. It uses the
 * inspector: with `--expose-gc` V8 drops Node's precompiled code in every thread.
 */
export function collectStartGarbage(): void {
  setTimeout(() => {
    // Loaded on demand; no other code uses it.
    const { Session } = process.getBuiltinModule('node:inspector');
    const session = new Session();
    session.connect();
    // The inspector holds a lock while it responds: disconnecting within the callback would deadlock.
    session.post('HeapProfiler.collectGarbage', () => setImmediate(() => session.disconnect()));
  }, settleMs).unref();
}
