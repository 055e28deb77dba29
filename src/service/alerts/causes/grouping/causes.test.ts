import { describe, expect, it } from 'vitest';
import type { CauseContext, FailingCheck } from '../failing-check.ts';
import { causes } from './causes.ts';

const quiet: CauseContext = { unhealthy: new Map(), targetsAt: new Map(), parents: new Map() };
const minuteMs = 60_000;

function failing(checkId: string, fields: Partial<FailingCheck> = {}): FailingCheck {
  return {
    ...{ checkId, name: checkId, since: 0, slotAt: 0, intervalMs: minuteMs, parentIds: [] },
    ...{ symptom: 'unreachable', fromLocation: null, host: `${checkId}.test`, address: null, hop: null },
    ...{ nameServer: null, certificate: null, egressRule: null, content: null },
    ...{ failedAt: ['lab'], passedAt: [] },
    ...fields,
  };
}

const shown = (facts: readonly FailingCheck[], context: Partial<CauseContext> = {}) =>
  causes(facts, { ...quiet, ...context }).map(
    ({ kind, evidence, members }) =>
      `${kind} ${evidence}: ${members.map(({ checkId }) => checkId).join(' ')}`,
  );

describe('causes', () => {
  it('groups checks of one host, one address, one certificate or one rule, and no others', () => {
    const host = { host: 'shop.test' };
    const certificate = { subject: '*.test', issuer: 'CA', validTo: 'then' };
    expect(
      shown([
        failing('a', host),
        failing('b', { ...host, symptom: 'unwell' }),
        failing('c', { address: '10.0.0.5' }),
        failing('d', { address: '10.0.0.5' }),
        failing('e', { symptom: 'certificate', certificate }),
        failing('f', { symptom: 'certificate', certificate }),
        failing('g', { symptom: 'egress', egressRule: 'R' }),
        failing('h', { symptom: 'egress', egressRule: 'R' }),
        failing('i'),
      ]),
    ).toEqual([
      'egress R: g h',
      'certificate *.test, issued by CA, valid to then: e f',
      'host shop.test: a b',
      'address 10.0.0.5: c d',
      'check i: i',
    ]);
  });

  it('separates different failures, and failed responses of hosts that share an address', () => {
    const content = { host: 'api.test', symptom: 'content' } as const;
    expect(
      shown([
        failing('a', { ...content, content: 'one' }),
        failing('b', { ...content, content: 'other' }),
        failing('c', { symptom: 'unwell', address: '192.0.2.1' }),
        failing('d', { symptom: 'unwell', address: '192.0.2.1' }),
      ]),
    ).toHaveLength(4);
  });

  it('attributes a further failure on a host to another cause if the check passed long after the others failed', () => {
    const [first, later] = [
      failing('a', { host: 'h.test' }),
      failing('b', { host: 'h.test', since: 11 * minuteMs }),
    ];
    expect(shown([first, later])).toHaveLength(2);
    // Its previous run was due before anything failed.
    expect(shown([first, { ...later, intervalMs: 30 * minuteMs }])).toEqual(['host h.test: a b']);
  });

  it('suspects a location if several targets fail only there, or nearly all that run nowhere else', () => {
    const there = { fromLocation: 'network', passedAt: ['office'] } as const;
    expect(shown([failing('a', there), failing('b', there)])).toEqual(['location lab: a b']);
    const nowhereElse = ['a', 'b', 'c'].map((id) => failing(id, { fromLocation: 'network' }));
    expect(shown(nowhereElse, { targetsAt: new Map([['lab', 4]]) })).toEqual(['location lab: a b c']);
    expect(shown(nowhereElse, { targetsAt: new Map([['lab', 40]]) })).toHaveLength(3);
    const unnamed = nowhereElse.map((fact) => ({ ...fact, symptom: 'unnamed' as const }));
    expect(shown(unnamed, { targetsAt: new Map([['lab', 3]]) })).toEqual(['resolver lab: a b c']);
  });

  it('leaves to an unhealthy location what that explains', () => {
    const unhealthy = new Map([['lab', new Set(['resolver'])]]);
    const [blamed, other] = causes(
      [failing('a', { fromLocation: 'resolver' }), failing('b', { fromLocation: 'network' })],
      { ...quiet, unhealthy },
    );
    expect(blamed).toMatchObject({ kind: 'location', isLocationsOwn: true });
    expect(other).toMatchObject({ kind: 'check', isLocationsOwn: false });
  });

  it('assigns checks to their parents, and groups those of one parent that has not run yet', () => {
    const child = { parentIds: ['router'] };
    const facts = [failing('a', child), failing('b', child)];
    expect(shown([...facts, failing('router')])).toEqual(['parent router: router a b']);
    const parents = (passedAt: number | null) => new Map([['router', { name: 'Router', passedAt }]]);
    expect(shown(facts, { parents: parents(null) })).toEqual(['parent Router: a b']);
    expect(shown(facts, { parents: parents(1) })).toHaveLength(2);
    const loop = [failing('a', { parentIds: ['b'] }), failing('b', { parentIds: ['a'] })];
    expect(shown(loop).length).toBeGreaterThan(0);
  });

  it('gives the reason in one sentence, and contains every check once', () => {
    const facts = ['a', 'b', 'c', 'd'].map((id) => failing(id, { hop: '10.1.1.1' }));
    const groups = causes(facts, quiet);
    expect(groups.map(({ reason }) => reason)).toEqual([
      'No hop after 10.1.1.1 responds on the paths to 4 targets of 4 checks.',
    ]);
    expect(groups.flatMap(({ members }) => members)).toHaveLength(4);
  });
});
