import { describe, expect, it } from 'vitest';
import { advanceCauses } from './cause-lifecycle.ts';
import type { Evidence } from './evidence.ts';
import type { FailingCheck } from './failing-check.ts';
import type { CauseEvent, CauseUpdate, OpenCause } from './open-cause.ts';

/** Returns a generator of numbers from 0 to 1 that is determined by the seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const wildcard = { subject: '*.shop.test', issuer: 'CA', validTo: 'yesterday' };
const locations = ['amber', 'basalt', 'chalk'];
const minuteMs = 60_000;
const intervalMs = 60_000;
const holdMs = 10_000;
const stepMs = 1_000;

interface Trouble {
  readonly name: string;
  /** The affected location, for troubles of a location. */
  readonly location?: string;
  /** The effect on a run; null if it passes anyway. */
  strike(check: SimulatedCheck, location: string): (Partial<Evidence> & { readonly lateMs: number }) | null;
}

interface SimulatedCheck {
  readonly id: string;
  readonly host: string;
  readonly address: string;
  readonly offsetMs: number;
  readonly parentIds: readonly string[];
}

interface Report {
  readonly at: number;
  readonly check: SimulatedCheck;
  readonly location: string;
  readonly slotAt: number;
  /** `error`: the location's own fault, which is not evidence about the target. */
  readonly verdict: 'passed' | 'failed' | 'error';
  readonly evidence: Partial<Evidence>;
}

const nothingSeen: Evidence = {
  ...{ symptom: 'content', fromLocation: null, host: null, address: null, hop: null },
  ...{ nameServer: null, certificate: null, egressRule: null, content: null },
};

/** Two checks for each of fifty hosts; the last ten hosts share five addresses. */
function checksOf(random: () => number): SimulatedCheck[] {
  return Array.from({ length: 100 }, (_, index) => {
    const host = Math.floor(index / 2);
    const address = host < 40 ? `10.0.0.${host}` : `10.0.1.${Math.floor((host - 40) / 2)}`;
    // The checks of host 30 to 33 depend on a check of host 29.
    const parentIds = host >= 30 && host < 34 ? ['check-58'] : [];
    return {
      ...{ id: `check-${index}`, host: `host-${host}.of-${host}.test`, address, parentIds },
      offsetMs: Math.floor(random() * intervalMs),
    };
  });
}

/** Twenty causes that begin at once. */
function troublesOf(random: () => number): Trouble[] {
  const refused = { symptom: 'unreachable', lateMs: 100 } as const;
  const silent = { symptom: 'unreachable', fromLocation: 'network' } as const;
  const hostTrouble = (index: number, shown: Partial<Evidence>, lateMs: number): Trouble => ({
    name: `host ${index}`,
    strike: ({ host, address }) =>
      host.startsWith(`host-${index}.`) ? { host, address, ...shown, lateMs: lateMs * random() } : null,
  });
  return [
    ...[0, 1, 2, 3].map((index) => hostTrouble(index, refused, 500)),
    ...[4, 5, 6].map((index) => hostTrouble(index, silent, 30_000)),
    ...[7, 8].map((index) => hostTrouble(index, { symptom: 'unwell' }, 2_000)),
    ...[9, 10].map((index) => hostTrouble(index, { symptom: 'content', content: `deploy ${index}` }, 500)),
    hostTrouble(11, { symptom: 'unnamed', fromLocation: 'resolver' }, 500),
    // Hosts that share an address fail with it.
    ...[0, 1, 2].map(
      (index): Trouble => ({
        name: `address ${index}`,
        strike: ({ host, address }) =>
          address === `10.0.1.${index}` ? { host, address, ...silent, lateMs: 15_000 * random() } : null,
      }),
    ),
    // One certificate of three hosts.
    {
      name: 'certificate',
      strike: ({ host }) =>
        /^host-1[2-4]\./.test(host)
          ? { host, symptom: 'certificate', certificate: wildcard, lateMs: 300 }
          : null,
    },
    {
      name: 'egress rule',
      strike: ({ host }, location) =>
        /^host-1[5-7]\./.test(host) && location === 'chalk'
          ? { host, symptom: 'egress', egressRule: '10.9.0.0/16 of EGRESS_DENY', lateMs: 50 }
          : null,
    },
    // A parent, and all checks that depend on it.
    {
      name: 'parent',
      strike: ({ host, address }) =>
        /^host-(29|3[0-3])\./.test(host) ? { host, address, ...silent, lateMs: 8_000 * random() } : null,
    },
    {
      name: 'half-dead resolver',
      location: 'amber',
      strike: ({ host }, location) =>
        location === 'amber' && random() < 0.5
          ? { host, symptom: 'unnamed', fromLocation: 'resolver', lateMs: 4_000 * random() }
          : null,
    },
    {
      name: 'lossy link',
      location: 'basalt',
      strike: ({ host, address }, location) =>
        location === 'basalt' && random() < 0.3
          ? { host, address, ...silent, lateMs: 10_000 + 20_000 * random() }
          : null,
    },
  ];
}

interface Options {
  readonly troubles: readonly Trouble[];
  readonly unhealthy?: (atMs: number) => ReadonlyMap<string, ReadonlySet<string>>;
  /** Whether a run at a location ends as an error of the location. */
  readonly isError?: (location: string, atMs: number) => boolean;
  /** The offset of the clock. */
  readonly skewMs?: (atMs: number) => number;
}

const beginMs = 5 * 60_000;
const endMs = 20 * 60_000;
const stopMs = 40 * 60_000;
const epochMs = Date.UTC(2026, 0, 1);

/** Simulates the checks, and records the notifications of the only channel. */
function play(random: () => number, { troubles, unhealthy, isError, skewMs = () => 0 }: Options) {
  const checks = checksOf(random);
  const byId = new Map(checks.map((check) => [check.id, check]));
  const reports = checks.flatMap((check) => reportsOf(check)).sort((left, right) => left.at - right.at);
  let open: OpenCause[] = [];
  let inbox: (CauseEvent & { readonly at: number })[] = [];
  const failing = new Set<string>();
  const last = new Map<string, Map<string, Report>>();
  const notified: { cause: string; isRecovery: boolean }[] = [];
  /** Further messages about a known cause: checks that joined, and checks that recovered while others fail. */
  const updates: { cause: string; at: number; update: CauseUpdate }[] = [];
  /** Failing checks that the channel of their cause has not been notified of, with the start of the failure. */
  let untold = new Map<string, number>();
  let longestUntoldMs = 0;
  const ofCause = new Map<string, OpenCause>();
  let counter = 0;
  const newId = () => {
    counter += 1;
    return `cause-${counter}`;
  };

  function reportsOf(check: SimulatedCheck): Report[] {
    const list: Report[] = [];
    for (let at = check.offsetMs; at < stopMs; at += intervalMs) {
      for (const location of locations) {
        const isStruck = at >= beginMs && at < endMs;
        const hits = isStruck ? troubles.map((one) => one.strike(check, location)) : [];
        const [hit] = hits.filter((struck) => struck !== null);
        const common = { check, location, slotAt: at };
        if (isError?.(location, at)) list.push({ ...common, at: at + 500, verdict: 'error', evidence: {} });
        else if (hit) {
          const { lateMs, ...evidence } = hit;
          list.push({ ...common, at: at + lateMs, verdict: 'failed', evidence });
        } else list.push({ ...common, at: at + 200, verdict: 'passed', evidence: {} });
      }
    }
    return list;
  }

  const placesOf = (checkId: string, slot: number) => {
    const all = [...(last.get(checkId)?.values() ?? [])];
    const ofSlot = all.filter(({ slotAt }) => slotAt === slot);
    const at = (verdict: Report['verdict']) =>
      ofSlot.filter((one) => one.verdict === verdict).map(({ location }) => location);
    return { failedAt: at('failed'), passedAt: at('passed') };
  };
  const refreshed = (fact: FailingCheck): FailingCheck => {
    const places = placesOf(fact.checkId, fact.slotAt);
    const count = (one: Pick<FailingCheck, 'failedAt' | 'passedAt'>) =>
      one.failedAt.length + one.passedAt.length;
    return count(places) > count(fact) ? { ...fact, ...places } : fact;
  };

  let position = 0;
  for (let at = 0; at < stopMs + 15 * 60_000; at += stepMs) {
    const now = epochMs + at + skewMs(at);
    for (; (reports[position]?.at ?? Number.POSITIVE_INFINITY) <= at; position += 1) {
      const report = reports[position];
      if (!report) break;
      const { check, location, slotAt, verdict, evidence } = report;
      const known = last.get(check.id) ?? new Map<string, Report>();
      last.set(check.id, known.set(location, report));
      const base = { alertId: `${check.id} ${slotAt}`, channelIds: [1], at: now };
      if (verdict === 'failed' && !failing.has(check.id)) {
        failing.add(check.id);
        const fact: FailingCheck = {
          ...{ ...nothingSeen, ...evidence, ...placesOf(check.id, slotAt) },
          ...{
            checkId: check.id,
            name: check.id,
            since: epochMs + slotAt + skewMs(slotAt),
            slotAt,
            intervalMs,
          },
          parentIds: check.parentIds,
        };
        inbox.push({ ...base, kind: 'failure', fact, incident: null, isDue: false });
      } else if (failing.has(check.id)) {
        const ofSlot = [...known.values()].filter((one) => one.slotAt === slotAt && one.verdict === 'passed');
        const isRecovered = ofSlot.length === locations.length;
        if (isRecovered) {
          failing.delete(check.id);
          inbox.push({ ...base, kind: 'recovery', checkId: check.id });
        }
      }
    }
    const news = inbox.map((one) =>
      one.kind === 'failure'
        ? { ...one, fact: refreshed(one.fact), isDue: one.at + holdMs <= now || one.at > now }
        : one,
    );
    const causes = open.map((cause) => ({
      ...cause,
      members: cause.members.map((member) =>
        member.recovered === null ? { ...member, fact: refreshed(member.fact) } : member,
      ),
    }));
    const parentPassed = [...(last.get('check-58')?.values() ?? [])]
      .filter(() => !failing.has('check-58'))
      .map(({ slotAt }) => epochMs + slotAt + skewMs(slotAt));
    const parents = new Map([
      [
        'check-58',
        { name: 'check-58', passedAt: parentPassed.length === 0 ? null : Math.max(...parentPassed) },
      ],
    ]);
    const context = {
      parents,
      unhealthy: unhealthy?.(at) ?? new Map(),
      targetsAt: new Map(locations.map((one) => [one, 45])),
    };
    const step = advanceCauses(causes, news, { now, context, newId });
    for (const cause of [...causes, ...step.changed]) ofCause.set(cause.id, cause);
    open = [...new Map([...causes, ...step.changed].map((cause) => [cause.id, cause])).values()].filter(
      ({ closed }) => closed === null,
    );
    for (const notice of step.notices) {
      if (notice.update) {
        updates.push({ cause: notice.causeId, at, update: notice.update });
        continue;
      }
      const member = ofCause.get(notice.causeId)?.members.find(({ fact }) => fact.checkId === notice.checkId);
      notified.push({
        cause: notice.causeId,
        isRecovery: member?.recovery !== null && member?.recovered !== null,
      });
    }
    const unknown = open.flatMap(({ isLocationsOwn, notified: channels, members }) => {
      const told = new Set(isLocationsOwn ? [] : channels.flatMap((one) => one.told ?? []));
      const failing = isLocationsOwn ? [] : members.filter(({ recovered }) => recovered === null);
      return failing.flatMap(({ fact }) => (told.has(fact.checkId) ? [] : [fact.checkId]));
    });
    untold = new Map(unknown.map((id) => [id, untold.get(id) ?? at]));
    longestUntoldMs = Math.max(longestUntoldMs, ...[...untold.values()].map((since) => at - since));
    inbox = inbox.filter((one) => step.held.has(one.kind === 'failure' ? one.fact.checkId : one.checkId));
  }
  return { notified, updates, longestUntoldMs, causes: [...ofCause.values()], open, byId };
}

/** The trouble that a cause is about: that of its location, or the one that certainly affects most of its members. */
function troubleOf(
  cause: OpenCause,
  troubles: readonly Trouble[],
  byId: ReadonlyMap<string, SimulatedCheck>,
) {
  const ofPlace = troubles.find(({ location }) => location === cause.evidence);
  if (ofPlace) return ofPlace.name;
  const counts = troubles.map((trouble) => {
    const struck = cause.members.filter(({ fact }) => {
      const check = byId.get(fact.checkId);
      return trouble.location === undefined && check && trouble.strike(check, 'chalk') !== null;
    });
    return { name: trouble.name, count: struck.length };
  });
  const [most] = counts.sort((left, right) => right.count - left.count);
  return most && most.count * 2 > cause.members.length ? most.name : 'a location';
}

describe('twenty causes at once, a hundred checks at three locations', () => {
  it.each(Array.from({ length: 8 }, (_, seed) => seed + 1))(
    'seed %i: each is notified once, and none is silent',
    (seed) => {
      const random = randomOf(seed);
      const troubles = troublesOf(random);
      expect(troubles).toHaveLength(20);
      // The clock jumps an hour ahead in the middle, and back.
      const skewMs = (at: number) => (seed % 2 === 0 && at > 8 * 60_000 && at < 12 * 60_000 ? 3_600_000 : 0);
      const { notified, updates, longestUntoldMs, causes, open, byId } = play(random, { troubles, skewMs });
      const named = new Map(causes.map((cause) => [cause.id, troubleOf(cause, troubles, byId)]));
      const failures = notified.filter(({ isRecovery }) => !isRecovery).map(({ cause }) => named.get(cause));
      const silent = troubles.filter(({ name }) => !failures.includes(name)).map(({ name }) => name);
      expect({ silent, failures: failures.toSorted() }).toMatchObject({ silent: [] });
      expect(failures.length, JSON.stringify(failures.toSorted())).toBeLessThanOrEqual(troubles.length * 1.1);
      expect(notified.length - failures.length).toBe(failures.length);
      expect(open).toEqual([]);
      // Later failures are reported by name within a minute, with at most one message a minute.
      expect(longestUntoldMs).toBeLessThanOrEqual(minuteMs);
      for (const [, ofCause] of Map.groupBy(updates, ({ cause }) => cause)) {
        const gaps = ofCause.map(({ at }, index) => at - (ofCause[index - 1]?.at ?? -minuteMs));
        expect(Math.min(...gaps)).toBeGreaterThanOrEqual(skewMs(10 * minuteMs) === 0 ? minuteMs : 0);
      }
      const counts = updates.map(({ update }) => update.count);
      expect(Math.min(1, ...counts)).toBe(1);
    },
  );
});

describe('a location that is at fault', () => {
  const lost = { symptom: 'unreachable', fromLocation: 'network' } as const;
  const cut: Trouble = {
    name: 'cut network',
    location: 'chalk',
    strike: ({ host, address }, location) =>
      location === 'chalk' ? { ...lost, host, address, lateMs: 3_000 } : null,
  };
  const sick = new Map([['chalk', new Set(['network'])]]);

  it('notifies of no target while its agents report it unhealthy, including earlier failures', () => {
    const found = beginMs + 8_000;
    const unhealthy = (at: number) => (at >= found && at < endMs + 30_000 ? sick : new Map());
    const { notified, causes, open } = play(randomOf(1), { troubles: [cut], unhealthy });
    expect(notified).toEqual([]);
    expect(causes.map(({ kind, evidence }) => `${kind} ${evidence}`)).toEqual(['location chalk']);
    expect(open).toEqual([]);
  });

  it('notifies of nothing while its proxy is down: its runs are its own errors', () => {
    const isError = (location: string, at: number) => location === 'basalt' && at >= beginMs && at < endMs;
    expect(play(randomOf(2), { troubles: [], isError }).notified).toEqual([]);
  });

  it('does not excuse checks that still fail when it has been healthy for a while', () => {
    const unhealthy = (at: number) => (at >= beginMs && at < beginMs + 120_000 ? sick : new Map());
    const { notified, causes } = play(randomOf(3), { troubles: [cut], unhealthy });
    expect(notified.map(({ isRecovery }) => isRecovery)).toEqual([false, true]);
    expect(causes.map(({ isLocationsOwn }) => isLocationsOwn)).toEqual([true, false]);
  });
});
