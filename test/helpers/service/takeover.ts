import { createLocation, startAgentProcess, startServiceProcess, until } from '../picket-process.ts';
import { startHoldingTarget } from '../targets/holding-target.ts';
import { readLedger } from './ledger-view.ts';

export interface TakeoverFigures {
  /** Runs that were in flight when the first agent was killed. */
  readonly inFlight: number;
  /** How many of them have exactly one FINAL. */
  readonly finalOnce: number;
  /** Runs of the whole ledger with more than one FINAL. */
  readonly doubled: number;
  /** From the readiness of the second agent to the last FINAL, in milliseconds. */
  readonly takeoverMs: number;
}

/**
 * Kills an agent outright with `runCount` runs in flight, starts a second one, and counts what happened to the runs.
 */
export async function killAndTakeOver(runCount: number): Promise<TakeoverFigures> {
  await using target = await startHoldingTarget();
  await using service = await startServiceProcess();
  const location = await createLocation(service, 'killed');
  for (let index = 0; index < runCount; index += 1) {
    await service.api('POST', '/v1/checks/url', {
      name: `check ${index}`,
      frequency: 0,
      frequencyOffset: 10,
      privateLocations: [location.slugName],
      request: { url: `${target.url}/${index}` },
    });
  }
  const connection = { serviceUrl: service.url, key: location.key };
  const first = await startAgentProcess(connection, {
    PROBE_CONCURRENCY: String(runCount),
    AGENT_ID: 'first',
  });
  await until(`${runCount} runs are in flight`, () => target.waiting().length >= runCount, {
    timeoutMs: 60_000,
    process: first.process,
  });
  const inFlight = readLedger(service.dataDir).filter(
    ({ state, agentId }) => state === 'leased' && agentId === 'first',
  );
  await first.process.kill('SIGKILL');
  target.release();

  await using second = await startAgentProcess(connection, { AGENT_ID: 'second' });
  const startedAt = performance.now();
  const ids = new Set(inFlight.map(({ id }) => id));
  const taken = () => readLedger(service.dataDir).filter(({ id }) => ids.has(id));
  await until(
    'every run is terminal',
    () => taken().every(({ state }) => state !== 'queued' && state !== 'leased'),
    {
      timeoutMs: 60_000,
      process: second.process,
    },
  );
  return {
    inFlight: inFlight.length,
    finalOnce: taken().filter(({ state, finals }) => state === 'final' && finals === 1).length,
    doubled: readLedger(service.dataDir).filter(({ finals }) => finals > 1).length,
    takeoverMs: performance.now() - startedAt,
  };
}
