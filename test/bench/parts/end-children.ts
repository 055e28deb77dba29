import { readdirSync, readFileSync } from 'node:fs';

/**
 * Ends the processes that a benchmark started, and their descendants, on Ctrl-C and SIGTERM, until disposed. Some of
 * them would otherwise drain or continue. If another listener handles the signal, because it has more to clean up, that
 * one ends the benchmark.
 */
export function endChildrenOnSignal(): Disposable {
  const signals = ['SIGINT', 'SIGTERM'] as const;
  const end = (signal: NodeJS.Signals) => {
    for (const pid of descendants()) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has already ended, because of the same Ctrl-C.
      }
    }
    if (process.listenerCount(signal) === 1) process.exit(130);
  };
  for (const signal of signals) process.on(signal, end);
  return {
    [Symbol.dispose]() {
      for (const signal of signals) process.off(signal, end);
    },
  };
}

/** Ids of all descendants of a process, whichever thread started them. */
export function descendants(of = process.pid): number[] {
  const found = childrenOf(of);
  for (const pid of found) found.push(...childrenOf(pid));
  return found;
}

function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    );
  } catch {
    return []; // it has just ended
  }
}
