import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ErrorBudget } from './error-budget.ts';
import type { HopAnswer, HopProber } from './hop-prober.ts';
import { type Route, traceRoute } from './traceroute.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const address = '192.0.2.7';
const roundTripMs = 10;

/** A Linux host behind some routers: it sends its peer six errors at once, and then one per second. */
function limitedTarget(distance: number) {
  let errors = 6;
  let countedAtMs = performance.now();
  let leftOutCount = 0;
  const answerTo = (ttl: number): HopAnswer => {
    if (ttl < distance) {
      return { kind: 'answer', address: `10.0.0.${ttl}`, rttMs: 1, error: { type: 11, code: 0 } };
    }
    errors = Math.min(6, errors + (performance.now() - countedAtMs) / 1000);
    countedAtMs = performance.now();
    if (errors < 1) {
      leftOutCount += 1;
      return { kind: 'silence' };
    }
    errors -= 1;
    return { kind: 'answer', address, rttMs: roundTripMs, error: null };
  };
  const prober = (budget?: ErrorBudget): HopProber => ({
    description: 'a test',
    clock: 'kernel',
    ...(budget && { budget }),
    probe: ({ ttl, replyTimeoutMs }) => {
      const answer = answerTo(ttl);
      const waitMs = answer.kind === 'silence' ? replyTimeoutMs : roundTripMs;
      return new Promise((resolve) => setTimeout(() => resolve(answer), waitMs));
    },
  });
  return { prober, leftOutCount: () => leftOutCount };
}

/** Runs `count` traces at once. */
async function tracesAtOnce(count: number, prober: HopProber, timeoutMs = 10_000): Promise<Route[]> {
  const traces = Promise.all(
    Array.from({ length: count }, () =>
      traceRoute({ address, family: 4 }, { prober, signal: new AbortController().signal, timeoutMs }),
    ),
  );
  let isOver = false;
  void traces.finally(() => {
    isOver = true;
  });
  while (!isOver) await vi.advanceTimersByTimeAsync(5);
  return await traces;
}

const silencesAt = ({ hops, distance }: Route) =>
  hops.flatMap(({ ttl, answers }) =>
    distance !== null && ttl >= distance ? answers.filter(({ kind }) => kind === 'silence') : [],
  ).length;

it.each([1, 4])(
  'eight traces at once reach a target at distance %i that limits its errors',
  async (distance) => {
    const target = limitedTarget(distance);
    const prober = target.prober(new ErrorBudget());
    for (const _again of [1, 2, 3]) {
      const routes = await tracesAtOnce(8, prober);
      expect(routes.map(({ end }) => end)).toEqual(Array.from({ length: 8 }, () => 'reached'));
      expect(routes.map((route) => route.distance)).toEqual(Array.from({ length: 8 }, () => distance));
      expect(routes.map(silencesAt)).toEqual(Array.from({ length: 8 }, () => 0));
    }
    expect(target.leftOutCount()).toBe(0);
  },
);

it('without a budget the target of that test would not reply to some of them', async () => {
  const target = limitedTarget(4);
  const routes = await tracesAtOnce(8, target.prober());
  expect(target.leftOutCount()).toBeGreaterThan(0);
  expect(routes.some(({ end }) => end !== 'reached')).toBe(true);
});

it('a single trace takes no longer than without a budget, and sends as many probes', async () => {
  const lengthOf = async (budget?: ErrorBudget) => {
    const prober = limitedTarget(4).prober(budget);
    await tracesAtOnce(1, prober);
    await vi.advanceTimersByTimeAsync(10_000);
    const beganMs = performance.now();
    const [route] = await tracesAtOnce(1, prober);
    return [performance.now() - beganMs, route?.hops.map(({ answers }) => answers.length)];
  };
  expect(await lengthOf(new ErrorBudget())).toEqual(await lengthOf());
});

it('a target whose distance changes is still found', async () => {
  const budget = new ErrorBudget();
  for (const distance of [4, 7, 2]) {
    const [route] = await tracesAtOnce(1, limitedTarget(distance).prober(budget));
    expect(route).toMatchObject({ end: 'reached', distance });
    await vi.advanceTimersByTimeAsync(10_000);
  }
});

it('a target that stops replying delays no trace for long, and is silent to all', async () => {
  const budget = new ErrorBudget();
  await tracesAtOnce(1, limitedTarget(4).prober(budget));
  const silent = limitedTarget(4).prober(budget);
  const probe: HopProber['probe'] = (one, signal) =>
    one.ttl < 4
      ? silent.probe(one, signal)
      : new Promise((resolve) => setTimeout(() => resolve({ kind: 'silence' }), one.replyTimeoutMs));
  for (const _again of [1, 2]) {
    const beganMs = performance.now();
    const routes = await tracesAtOnce(4, { ...silent, probe });
    expect(routes.map(({ end }) => end)).toEqual(['silent', 'silent', 'silent', 'silent']);
    expect(performance.now() - beganMs).toBeLessThan(10_000);
  }
});

it('a trace that is stopped while it waits ends at once, and delays no other one', async () => {
  const budget = new ErrorBudget();
  const target = limitedTarget(2);
  const stop = new AbortController();
  const prober = target.prober(budget);
  const stopped = traceRoute({ address, family: 4 }, { prober, signal: stop.signal, timeoutMs: 10_000 });
  stop.abort();
  const [route] = await tracesAtOnce(1, prober);
  expect((await stopped).end).toBe('time-limit');
  expect(route).toMatchObject({ end: 'reached', distance: 2 });
});
