import { readdirSync, readFileSync } from 'node:fs';

/**
 * Lets Ctrl-C and SIGTERM end the processes that a benchmark started, and those that they started, together with it, until
 * disposed. Some of them would drain or go on otherwise. Where somebody else listens for the signal too, because there is more to
 * tidy up, it ends when that one says so.
 */
export function endChildrenOnSignal(): Disposable {
  const signals = ['SIGINT', 'SIGTERM'] as const;
  const end = (signal: NodeJS.Signals) => {
    for (const pid of descendants()) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It ended by itself, of the same Ctrl-C.
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

/** Ids of the processes that this one, or another, started, whichever thread did it, and of those below them. */
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
