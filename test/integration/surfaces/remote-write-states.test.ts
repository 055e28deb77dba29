import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Failure, failure } from '../../../src/checks/contract/failure.ts';
import { RemoteWrite } from '../../../src/extras/telemetry/remote-write/remote-write.ts';
import { ServiceConfig } from '../../../src/platform/config/config.ts';
import { CheckMetrics } from '../../../src/service/check-metrics/check-metrics.ts';
import { ServiceMetrics } from '../../../src/service/metrics/metrics.ts';
import { ManualClock } from '../../helpers/manual-clock.ts';
import { type HttpReceiver, startHttpReceiver } from '../../helpers/service/alert-receivers.ts';
import { samplesIn, type WrittenSample } from '../../helpers/service/remote-write-samples.ts';
import {
  createCheck,
  createLocation,
  openHarness,
  quietLogger,
  reportOf,
  type ServiceHarness,
  TestAgent,
} from '../../helpers/service/service.ts';

// A receiver of remote write keeps the last sample of a series for minutes: it is notified when a series ends.
const clock = new ManualClock(Date.UTC(2026, 10, 22, 12));
let harness: ServiceHarness;
let receiver: HttpReceiver;
let remoteWrite: RemoteWrite;
let agent: TestAgent;
let checkId = '';
beforeAll(async () => {
  receiver = await startHttpReceiver();
  harness = await openHarness({ clock });
  agent = new TestAgent(harness, await createLocation(harness, 'lab'));
  const common = { privateLocations: ['lab'], retryStrategy: null, doubleCheck: false };
  checkId = (await createCheck(harness, { name: 'shop', ...common })).id;
  remoteWrite = new RemoteWrite({
    config: ServiceConfig.parse({ REMOTE_WRITE_URL: receiver.url, EGRESS_ALLOW: '127.0.0.1' }),
    checkMetrics: new CheckMetrics({ store: harness.store, clock }),
    ...{ clock, metrics: new ServiceMetrics(), logger: quietLogger },
  });
  harness.startScheduler();
});
afterAll(async () => {
  await remoteWrite.close();
  await harness.close();
  await receiver.close();
});

async function run(failed: Failure | null): Promise<void> {
  for (;;) {
    clock.advance(1_000);
    const [leased] = await agent.claim();
    if (leased) {
      await agent.report([reportOf(leased, { failure: failed })]);
      harness.startCheckTotals();
      return;
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** The next written samples of check states: `up` and `state` with their labels, `stale` for a series that ends. */
async function written(): Promise<string[]> {
  clock.advance(61_000);
  receiver.received.length = 0;
  await remoteWrite.turn();
  return receiver.received
    .flatMap(({ bytes }) => samplesIn(bytes))
    .filter(({ name }) => /^picket_check_(up|state|degraded|error)$/.test(name))
    .map(saying)
    .toSorted();
}

const saying = ({ name, labels, value, isStale }: WrittenSample) =>
  `${name.replace('picket_check_', '')}${labels['state'] === undefined ? '' : ` ${labels['state']}`}: ${isStale ? 'stale' : value}`;

it('ends the series of values that are no longer known, once', async () => {
  await run(null);
  expect(await written()).toEqual(['degraded: 0', 'error: 0', 'state passing: 1', 'up: 1']);
  clock.advance(4 * 60_000);
  expect(await written()).toEqual([
    ...['degraded: stale', 'error: stale', 'state not-measured: 1', 'state passing: stale', 'up: stale'],
  ]);
  expect(await written()).toEqual(['state not-measured: 1']);
  await run(failure('RUNNER_CRASHED', 'the runner ended'));
  expect(await written()).toEqual(['error: 1', 'state not-judged: 1', 'state not-measured: stale']);
  await run(failure('STATUS_UNEXPECTED', 'Unexpected status 503'));
  const failing = ['degraded: 0', 'error: 0', 'state failing: 1', 'state not-judged: stale', 'up: 0'];
  expect(await written()).toEqual(failing);
  await harness.call('DELETE', `/v1/checks/${checkId}`);
  expect(await written()).toEqual(['degraded: stale', 'error: stale', 'state failing: stale', 'up: stale']);
});
