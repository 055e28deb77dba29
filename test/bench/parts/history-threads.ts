import { once } from 'node:events';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { type Breadth, breadthsOf, widened } from '../../helpers/alert-histories/breadth.ts';
import { historyOf } from '../../helpers/alert-histories/history.ts';
import type { Verdict } from '../../helpers/alert-histories/judge.ts';
import { liveThrough } from '../../helpers/alert-histories/stage.ts';

/** Histories that share one service, identified by their seeds. */
export interface Round {
  readonly first: number;
  readonly count: number;
  /** Their additional events; null: decided by each seed. */
  readonly breadths: readonly Breadth[] | null;
}

/** Runs rounds on some threads, each with a service of its own, and reports their verdicts as they arrive. */
export async function liveOnThreads(
  rounds: readonly Round[],
  threads: number,
  onDone: (round: Round, verdicts: readonly Verdict[]) => void,
): Promise<void> {
  const waiting = [...rounds];
  const work = async () => {
    const thread = new Worker(new URL(import.meta.url));
    for (let round = waiting.shift(); round; round = waiting.shift()) {
      thread.postMessage(round);
      // Rejects with the error of a failed thread.
      const [verdicts] = (await once(thread, 'message')) as [readonly Verdict[]];
      onDone(round, verdicts);
    }
    await thread.terminate();
  };
  await Promise.all(Array.from({ length: threads }, work));
}

if (!isMainThread) {
  parentPort?.on('message', async ({ first, count, breadths }: Round) => {
    const seeds = Array.from({ length: count }, (_, index) => first + index);
    const histories = seeds.map((seed) => widened(historyOf(seed), breadths ?? breadthsOf(seed)));
    parentPort?.postMessage(await liveThrough(histories));
  });
}
