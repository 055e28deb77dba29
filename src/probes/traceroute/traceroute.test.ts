import { expect, it } from 'vitest';
import type { HopAnswer, HopProber } from './hop-prober.ts';
import { type TracerouteRequest, traceRoute } from './traceroute.ts';

const target = '192.0.2.7';
const router = (ttl: number): HopAnswer => ({
  kind: 'answer',
  address: `10.0.0.${ttl}`,
  rttMs: 1,
  error: { type: 11, code: 0 },
});
const reply: HopAnswer = { kind: 'answer', address: target, rttMs: 1, error: null };

/** Answers each probe of a hop in turn as given; unlisted probes get no reply. */
function proberOf(answerOf: (ttl: number, round: number) => HopAnswer | undefined) {
  const asked: number[] = [];
  const prober: HopProber = {
    description: 'a test',
    clock: 'kernel',
    probe: ({ ttl }) => {
      const round = asked.filter((one) => one === ttl).length + 1;
      asked.push(ttl);
      return Promise.resolve(answerOf(ttl, round) ?? { kind: 'silence' });
    },
  };
  return { prober, asked };
}

async function traced(
  { prober }: Pick<ReturnType<typeof proberOf>, 'prober'>,
  request: Partial<TracerouteRequest> = {},
) {
  const controls = { prober, signal: new AbortController().signal, timeoutMs: 5000 };
  const { hops, end, distance } = await traceRoute({ address: target, family: 4, ...request }, controls);
  return { end, distance, counts: hops.map(({ answers }) => answers.length) };
}

it('probes each hop once a round, and no hop behind the target', async () => {
  const way = proberOf((ttl) => (ttl < 3 ? router(ttl) : reply));
  expect(await traced(way)).toEqual({ end: 'reached', distance: 3, counts: [3, 3, 3] });
  expect(way.asked).toEqual([1, 2, 3, 1, 2, 3, 1, 2, 3]);
});

it('finds the target at a smaller distance in a later round, if it lost the first probe', async () => {
  const way = proberOf((ttl, round) =>
    ttl === 1 ? router(1) : ttl === 2 && round === 1 ? undefined : reply,
  );
  expect(await traced(way)).toEqual({ end: 'reached', distance: 2, counts: [3, 3] });
});

it('counts the hops to the first with the address of the target, and follows the route behind it', async () => {
  const forwards: HopAnswer = { ...router(2), address: target } as HopAnswer;
  const answering = proberOf((ttl) => (ttl === 1 ? router(1) : ttl < 4 ? forwards : reply));
  expect(await traced(answering)).toEqual({ end: 'reached', distance: 2, counts: [3, 3, 3, 3] });
  const silent = proberOf((ttl) => (ttl === 1 ? router(1) : ttl === 2 ? forwards : undefined));
  expect(await traced(silent, { maxSilentHops: 2 })).toEqual({ end: 'silent', distance: 2, counts: [3, 3] });
});

it('reaches a target that replied, although a router on another path refused a probe of a later round', async () => {
  const refusal: HopAnswer = { ...router(2), error: { type: 3, code: 1 } } as HopAnswer;
  const way = proberOf((ttl, round) =>
    ttl === 3 ? reply : ttl === 2 && round === 2 ? refusal : router(ttl),
  );
  expect(await traced(way)).toEqual({ end: 'reached', distance: 3, counts: [3, 3, 3] });
});

it('ends at silence, and probes once more behind the last hop that replied', async () => {
  const way = proberOf((ttl) => (ttl === 1 ? router(1) : undefined));
  expect(await traced(way, { maxSilentHops: 2 })).toEqual({ end: 'silent', distance: null, counts: [3] });
  expect(way.asked).toEqual([1, 2, 3, 1, 2, 1, 2]);
  const late = proberOf((ttl, round) => (ttl === 1 ? router(1) : round === 3 ? reply : undefined));
  expect(await traced(late, { maxSilentHops: 2 })).toEqual({ end: 'reached', distance: 2, counts: [3, 3] });
});

it('ends at a refusal, at the hop limit, and where sending fails', async () => {
  const refusal: HopAnswer = { ...router(2), error: { type: 3, code: 1 } } as HopAnswer;
  const refused = proberOf((ttl) => (ttl === 1 ? router(1) : refusal));
  expect(await traced(refused, { probesPerHop: 1 })).toEqual({
    end: 'unreachable',
    distance: null,
    counts: [1, 1],
  });
  expect(await traced(proberOf(router), { maxHops: 4, probesPerHop: 1 })).toEqual({
    end: 'hop-limit',
    distance: null,
    counts: [1, 1, 1, 1],
  });
  const unsent = proberOf(() => ({ kind: 'unsent', errno: 'ENETUNREACH' }));
  expect(await traced(unsent)).toEqual({ end: 'unsent', distance: null, counts: [1] });
});

it('throws the error of a prober, in any round', async () => {
  for (const broken of [1, 2]) {
    const { prober } = proberOf((ttl, round) => {
      if (round === broken) throw new Error('broken');
      return ttl === 1 ? router(1) : reply;
    });
    const probe: HopProber['probe'] = async (...given) => await prober.probe(...given);
    await expect(traced({ prober: { ...prober, probe } })).rejects.toThrow('broken');
  }
});

it('ends with the known hops when it is stopped', async () => {
  const { prober } = proberOf((ttl) => (ttl === 1 ? router(1) : undefined));
  const stop = new AbortController();
  const probe: HopProber['probe'] = ({ ttl, ...rest }, signal) => {
    if (ttl === 1) return prober.probe({ ttl, ...rest }, signal);
    setImmediate(() => stop.abort());
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve(undefined)));
  };
  const route = await traceRoute(
    { address: target, family: 4 },
    { prober: { ...prober, probe }, signal: stop.signal, timeoutMs: 5000 },
  );
  expect(route).toMatchObject({ end: 'time-limit', hops: [{ ttl: 1 }] });
});
