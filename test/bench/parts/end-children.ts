import { readdirSync, readFileSync } from 'node:fs';

/**
 * Lets Ctrl-C and SIGTERM end the processes that a benchmark started together with it, until disposed. Some of them would drain
 * or go on otherwise.
 */
export function endChildrenOnSignal(): Disposable {
  const signals = ['SIGINT', 'SIGTERM'] as const;
  const end = () => {
    for (const pid of children()) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It ended by itself, of the same Ctrl-C.
      }
    }
    process.exit(130);
  };
  for (const signal of signals) process.on(signal, end);
  return {
    [Symbol.dispose]() {
      for (const signal of signals) process.off(signal, end);
    },
  };
}

/** Ids of the processes that this one started, whichever thread did it. */
function children(): number[] {
  return readdirSync('/proc/self/task').flatMap((thread) =>
    readFileSync(`/proc/self/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
}
