import { Worker } from 'node:worker_threads';
import type { ActualStall, WireTargetOptions } from './wire-target-main.ts';

export interface WireTarget extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  /** The stalls of all responses so far, oldest first. */
  readonly stalls: readonly ActualStall[];
}

/** Starts a server in its own thread. */
export async function startWireTarget(options: WireTargetOptions): Promise<WireTarget> {
  const worker = new Worker(new URL('./wire-target-main.ts', import.meta.url), { workerData: options });
  const port = await new Promise<number>((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
  const stalls: ActualStall[] = [];
  worker.on('message', (stall: ActualStall) => stalls.push(stall));
  const scheme = options.kind === 'https' || options.kind === 'h2' ? 'https' : 'http';
  return {
    port,
    stalls,
    url: `${scheme}://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      await worker.terminate();
    },
  };
}

/** Keeps this thread busy, with breaks just long enough for one iteration of its event loop. */
export function keepBusy(blockMs: number): Disposable {
  let isDone = false;
  const block = () => {
    if (isDone) return;
    const endMs = performance.now() + blockMs;
    while (performance.now() < endMs);
    setImmediate(block);
  };
  setImmediate(block);
  return {
    [Symbol.dispose]: () => {
      isDone = true;
    },
  };
}
