import { describe, expect, it } from 'vitest';
import { advanceCauses } from './cause-lifecycle.ts';
import type { FailingCheck } from './failing-check.ts';
import type { CauseEvent, OpenCause } from './open-cause.ts';

const context = { unhealthy: new Map(), targetsAt: new Map(), parents: new Map() };

function fact(checkId: string, fields: Partial<FailingCheck> = {}): FailingCheck {
  return {
    ...{ checkId, name: checkId, since: 0, slotAt: 0, intervalMs: 60_000, parentIds: [] },
    ...{ symptom: 'unreachable', fromLocation: null, host: 'shop.test', address: null, hop: null },
    ...{ nameServer: null, certificate: null, egressRule: null, content: null },
    ...{ failedAt: ['lab'], passedAt: [] },
    ...fields,
  };
}

/** An account whose causes evolve step by step. */
class Account {
  open: OpenCause[] = [];
  now = 1_000_000;
  hurried: readonly string[] = [];
  #ids = 0;

  /** Returns the notifications as `alert → channel`. */
  hear(...news: CauseEvent[]): string[] {
    this.now += 1_000;
    const newId = () => {
      this.#ids += 1;
      return `cause-${this.#ids}`;
    };
    const step = advanceCauses(this.open, news, { now: this.now, context, newId });
    const all = new Map([...this.open, ...step.changed].map((cause) => [cause.id, cause]));
    this.open = [...all.values()].filter(({ closed }) => closed === null);
    this.hurried = step.hurried;
    return step.notices.map(({ alertId, channelId, checkId, update }) => {
      const what = update ? `${update.kind} ${update.names.join(' ')}` : `${alertId} of ${checkId}`;
      return `${what} → ${channelId}`;
    });
  }
}

const fails = (checkId: string, channelIds = [1], fields: Partial<FailingCheck> = {}): CauseEvent => ({
  ...{
    kind: 'failure',
    fact: fact(checkId, fields),
    incident: null,
    alertId: `${checkId} fails`,
    channelIds,
  },
  isDue: true,
});
const recovers = (checkId: string, channelIds = [1]): CauseEvent => ({
  ...{ kind: 'recovery', checkId, alertId: `${checkId} recovers`, channelIds },
});
const reminds = (checkId: string): CauseEvent => ({
  ...{ kind: 'aside', checkId, alertId: `${checkId} still fails`, isReminder: true, channelIds: [1] },
});

describe('the lifecycle of a cause', () => {
  it('notifies each channel once, and of its end when all its checks have recovered', () => {
    const account = new Account();
    expect(account.hear(fails('a'), fails('b', [1, 2]))).toEqual(['a fails of a → 1', 'b fails of b → 2']);
    expect(account.hear(fails('c'))).toEqual([]);
    expect(account.hear(recovers('a'))).toEqual([]);
    expect(account.hear(recovers('b', [1, 2]))).toEqual(['b recovers of b → 2']);
    // The last check to recover differs from the one in the notification; the opened alert is the one that is closed.
    expect(account.hear(fails('a'), recovers('c'))).toEqual([]);
    expect(account.hear(recovers('a'))).toEqual(['a recovers of a → 1']);
    expect(account.open).toEqual([]);
  });

  it('reports by name the checks that join after the message, once a minute, and not again', () => {
    const account = new Account();
    account.hear(fails('a'));
    expect(account.hear(fails('b'))).toEqual([]);
    expect(account.hear(fails('c', [1, 2]))).toEqual(['c fails of c → 2']);
    account.now += 60_000;
    expect(account.hear()).toEqual(['joined b c → 1']);
    expect(account.hear(fails('d'))).toEqual([]);
    account.now += 60_000;
    expect(account.hear()).toEqual(['joined d → 1']);
    account.now += 60_000;
    expect(account.hear()).toEqual([]);
  });

  it('reports a check at once that joins a cause with an old message', () => {
    const account = new Account();
    account.hear(fails('a'));
    account.now += 90_000;
    expect(account.hear(fails('b'))).toEqual(['joined b → 1']);
  });

  it('reports the recovery of a check while others still fail, and runs rarely run checks at once', () => {
    const account = new Account();
    account.hear(fails('a'), fails('slow', [1], { intervalMs: 600_000 }), fails('often'));
    account.now += 60_000;
    expect(account.hear(recovers('a'))).toEqual([]);
    expect(account.hurried).toEqual(['slow']);
    account.now += 58_000;
    expect(account.hear(recovers('often'))).toEqual([]);
    expect(account.hurried).toEqual([]);
    account.now += 1_000;
    expect(account.hear()).toEqual(['recovered a → 1']);
    account.now += 60_000;
    expect(account.hear()).toEqual(['recovered often → 1']);
    expect(account.hear(recovers('slow'))).toEqual(['slow recovers of a → 1']);
    expect(account.open).toEqual([]);
  });

  it('reports a second outage of a member that had passed for an interval while another one fails', () => {
    const account = new Account();
    const code = (name: string) => ({ code: name, symptom: 'unwell' }) as const;
    account.hear(fails('a', [1], code('503')), fails('slow', [1], { ...code('503'), intervalMs: 600_000 }));
    account.now += 180_000;
    expect(account.hear(recovers('a'))).toEqual([]);
    account.now += 61_000;
    expect(account.hear()).toEqual(['recovered a → 1']);
    account.now += 61_000;
    const again = { since: 300_000, code: '503' };
    expect(account.hear(fails('a', [1], again))).toEqual(['joined a → 1']);
    expect(account.open[0]?.members).toHaveLength(2);
  });

  it('reports a new failure code of a member that has just recovered, but not the same one', () => {
    const account = new Account();
    const by = (code: string, host = 'shop.test') => ({ code, host });
    account.hear(fails('a', [1], by('503')), fails('red', [1], by('503')));
    account.now += 120_000;
    account.hear(recovers('a'));
    expect(account.hear(fails('a', [1], by('503')))).toEqual([]);
    account.hear(recovers('a'));
    expect(account.hear(fails('a', [1], by('RESET')))).toEqual(['joined a → 1']);
    account.hear(recovers('a'));
    // A failure with another cause opens a new one.
    const other = { ...fails('a', [1], by('503', 'other.test')), alertId: 'a fails elsewhere' } as CauseEvent;
    expect(account.hear(other)).toEqual(['a fails elsewhere of a → 1']);
    expect(account.open).toHaveLength(2);
    expect(account.hear(recovers('red'))).toEqual(['red recovers of a → 1']);
    expect(account.hear(recovers('a'))).toEqual(['a recovers of a → 1']);
    expect(account.open).toEqual([]);
  });

  it('reminds of the first member that still fails, filed under the first notification', () => {
    const account = new Account();
    account.hear(fails('a'), fails('b'));
    expect(account.hear(reminds('a'), reminds('b'))).toEqual(['a still fails of a → 1']);
    expect(account.hear(recovers('a'), reminds('b'))).toEqual(['b still fails of a → 1']);
  });

  it('holds what is not due, unless another alert with its cause is', () => {
    const account = new Account();
    const early = { ...fails('a'), isDue: false } as CauseEvent;
    expect(account.hear(early)).toEqual([]);
    expect(account.open).toEqual([]);
    expect(account.hear(early, fails('b', [1], { host: 'other.test' }))).toEqual(['b fails of b → 1']);
    expect(account.hear(early, fails('c'))).toEqual(['a fails of a → 1']);
  });

  it('notifies of both if a check recovers before it is grouped, and of neither if it is deleted', () => {
    const account = new Account();
    expect(account.hear(fails('a'), recovers('a'))).toEqual(['a fails of a → 1', 'a recovers of a → 1']);
    account.hear(fails('b'));
    expect(account.hear({ kind: 'gone', checkId: 'b' })).toEqual([]);
    expect(account.open).toEqual([]);
  });

  it('is not over while single failures at one location come and go', () => {
    const account = new Account();
    const there = { fromLocation: 'network', passedAt: ['office'] } as const;
    expect(account.hear(fails('a', [1], there))).toEqual(['a fails of a → 1']);
    expect(account.hear(recovers('a'))).toEqual([]);
    // Another target of the same location, while the first passes.
    expect(account.hear(fails('b', [1], { ...there, host: 'other.test' }))).toEqual([]);
    expect(account.hear(recovers('b'))).toEqual([]);
    account.now += 120_000;
    expect(account.hear()).toEqual(['a recovers of a → 1']);
    expect(account.open).toEqual([]);
  });

  it('opens one incident for each service, and resolves it with the last member that names it', () => {
    const incident = {
      serviceId: 's',
      severity: 'MAJOR',
      name: 'x',
      description: '',
      notifySubscribers: false,
    } as const;
    const step = (open: OpenCause[], ...news: CauseEvent[]) =>
      advanceCauses(open, news, { now: 1, context, newId: () => 'cause' });
    const begun = step(
      [],
      { ...fails('a'), incident } as CauseEvent,
      { ...fails('b'), incident } as CauseEvent,
    );
    expect(begun.incidents.map(({ kind }) => kind)).toEqual(['open']);
    const one = step([...begun.changed], recovers('a'));
    expect(one.incidents).toEqual([]);
    const end = step([...one.changed], recovers('b'));
    expect(end.incidents.map(({ kind }) => kind)).toEqual(['resolve']);
    expect(end.incidents[0]?.incident.triggerId).toBe(begun.incidents[0]?.incident.triggerId);
  });

  it('triggers each rule of its members once, and notifies it with the last member that it covers', () => {
    const step = (open: OpenCause[], ...news: CauseEvent[]) =>
      advanceCauses(open, news, { now: 1, context, newId: () => 'cause' });
    const by = (checkId: string, ruleIds: string[]) => ({ ...fails(checkId), ruleIds }) as CauseEvent;
    const asked = ({ incidents }: ReturnType<typeof step>) =>
      incidents.map(({ kind, incident }) => [kind, incident.checkId, incident.incident]);
    const begun = step([], by('a', ['shop']), by('b', ['shop', 'all']), by('c', []));
    expect(asked(begun)).toEqual([
      ['open', 'a', { ruleId: 'shop' }],
      ['open', 'b', { ruleId: 'all' }],
    ]);
    const one = step([...begun.changed], recovers('b'));
    expect(asked(one)).toEqual([['resolve', 'b', { ruleId: 'all' }]]);
    const end = step([...one.changed], recovers('a'));
    expect(asked(end)).toEqual([['resolve', 'a', { ruleId: 'shop' }]]);
    expect(end.incidents[0]?.incident.triggerId).toBe(begun.incidents[0]?.incident.triggerId);
  });
});
