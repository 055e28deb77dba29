import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { AccountCalls } from './account-calls.ts';
import type { BenchAccount } from './two-accounts.ts';

/** Parameters of account A's loads. */
export interface HeavyParts {
  readonly url: string;
  readonly a: BenchAccount;
  readonly checkIds: readonly string[];
  readonly locationKey: string;
  readonly checksLocationKey: string;
  readonly hangingChannels: readonly number[];
}

type Load = (parts: HeavyParts, calls: AccountCalls, stop: AbortSignal) => Promise<unknown>;

/** The heaviest loads that each role permits. */
const loads = {
  analytics: ({ a, checkIds }, calls, stop) =>
    repeat(8, stop, () =>
      calls.call(a.keys.READ_ONLY, 'POST', '/v1/analytics/checks', { checkIds, quickRange: 'last30Days' }),
    ),
  exports: ({ a }, calls, stop) =>
    repeat(8, stop, () => calls.call(a.keys.READ_ONLY, 'GET', '/v1/reporting.csv?quickRange=last30Days')),
  deployments: ({ a }, calls, stop) => repeat(1, stop, () => deploy(a, calls, 1_000)),
  sessions: ({ a, checkIds, checksLocationKey }, calls, stop) =>
    // At the rate that RATE_LIMIT_PER_MINUTE allows by default: ten a second.
    repeat(8, stop, async () => {
      // Only runs that an agent can execute are started.
      await calls.claim(checksLocationKey, 0, stop);
      const target = { checkId: checkIds };
      await calls.call(a.keys.READ_RUN, 'POST', '/v1/check-sessions/trigger', { target });
      await delay(800, undefined, { signal: stop });
    }),
  claims: ({ locationKey }, calls, stop) => repeat(2_000, stop, () => calls.claim(locationKey, 20_000, stop)),
  pages: (_, calls, stop) =>
    repeat(16, stop, () => calls.call(null, 'GET', '/v1/public/dashboards/fairness-a')),
  'hanging webhooks': ({ a, hangingChannels }, calls, stop) =>
    repeat(50, stop, (number) => {
      const channel = hangingChannels[number % hangingChannels.length];
      return calls.call(a.keys.READ_WRITE, 'POST', `/v1/alert-channels/${channel}/test`);
    }),
} as const satisfies Readonly<Record<string, Load>>;

export type LoadName = keyof typeof loads;
export const loadNames = Object.keys(loads) as LoadName[];

/** Starts a load in a thread of its own, so that the measurements of B do not wait for A's computations. */
export function startLoad(name: LoadName, parts: HeavyParts): { stop(): Promise<void> } {
  const thread = new Worker(new URL(import.meta.url), { workerData: { name, parts } });
  const ended = once(thread, 'exit');
  return {
    async stop() {
      thread.postMessage('stop');
      await ended;
    },
  };
}

if (!isMainThread && parentPort && workerData?.name in loads) {
  const { name, parts } = workerData as { readonly name: LoadName; readonly parts: HeavyParts };
  const stop = new AbortController();
  parentPort.once('message', () => stop.abort());
  const load: Load = loads[name];
  await load(parts, new AccountCalls(parts.url), stop.signal);
  process.exit();
}

async function repeat(
  atOnce: number,
  stop: AbortSignal,
  act: (number: number) => Promise<unknown>,
): Promise<void> {
  await Promise.all(
    Array.from({ length: atOnce }, async (_, number) => {
      while (!stop.aborted) {
        await act(number).catch((thrown: Error) => {
          // Excess load is refused, and requests are aborted at the end of the measurement.
          if (!stop.aborted && !/: (429|502|503) /.test(thrown.message)) throw thrown;
          return delay(1_000, undefined, { signal: stop }).catch(() => undefined);
        });
      }
    }),
  );
}

async function deploy({ keys }: BenchAccount, calls: AccountCalls, count: number): Promise<void> {
  const logicalId = `p-${randomUUID().slice(0, 8)}`;
  const resources = Array.from({ length: count }, (_, number) => ({
    type: 'check',
    logicalId: `check-${number}`,
    payload: {
      checkType: 'URL',
      name: `d ${number}`,
      activated: false,
      request: { url: 'http://target.test/', method: 'GET' },
    },
  }));
  const { id } = await calls.call(keys.READ_WRITE, 'POST', '/v1/projects/deploy', {
    project: { logicalId, name: logicalId },
    resources,
  });
  for (;;) {
    const path = `/v1/projects/${logicalId}/deployments/${id}`;
    const { endedAt } = await calls.call(keys.READ_WRITE, 'GET', path);
    if (endedAt !== null) return;
    await delay(100);
  }
}
