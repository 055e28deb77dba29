import { describe, expect, it } from 'vitest';
import { type FailureCode, failureCatalogue } from '../../../../checks/contract/failure.ts';
import { evidenceOf } from '../evidence.ts';
import type { CauseContext, FailingCheck } from '../failing-check.ts';
import { causes } from './causes.ts';
import { domainOf } from './targets.ts';

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
  it('joins checks of one host, one address, one certificate, one rule; leaves the others alone', () => {
    const host = { host: 'shop.test' };
    expect(
      shown([
        failing('a', host),
        failing('b', { ...host, symptom: 'unwell' }),
        failing('c', { address: '10.0.0.5' }),
        failing('d', { address: '10.0.0.5' }),
        failing('e', { symptom: 'certificate', certificate: 'C' }),
        failing('f', { symptom: 'certificate', certificate: 'C' }),
        failing('g', { symptom: 'egress', egressRule: 'R' }),
        failing('h', { symptom: 'egress', egressRule: 'R' }),
        failing('i'),
      ]),
    ).toEqual([
      'egress R: g h',
      'certificate C: e f',
      'host shop.test: a b',
      'address 10.0.0.5: c d',
      'check i: i',
    ]);
  });

  it('keeps apart what fails differently, and answers that many hosts may share an address for', () => {
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

  it('takes one more failure on a host for another cause when the check passed long after the others failed', () => {
    const [first, later] = [
      failing('a', { host: 'h.test' }),
      failing('b', { host: 'h.test', since: 11 * minuteMs }),
    ];
    expect(shown([first, later])).toHaveLength(2);
    // Its run before that was due before anything failed.
    expect(shown([first, { ...later, intervalMs: 30 * minuteMs }])).toEqual(['host h.test: a b']);
  });

  it('suspects a location when several targets fail there alone, or nearly all that run nowhere else', () => {
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

  it('moves checks to what they depend on, and joins those of one parent that has not run yet', () => {
    const child = { parentIds: ['router'] };
    const facts = [failing('a', child), failing('b', child)];
    expect(shown([...facts, failing('router')])).toEqual(['parent router: router a b']);
    const parents = (passedAt: number | null) => new Map([['router', { name: 'Router', passedAt }]]);
    expect(shown(facts, { parents: parents(null) })).toEqual(['parent Router: a b']);
    expect(shown(facts, { parents: parents(1) })).toHaveLength(2);
    const loop = [failing('a', { parentIds: ['b'] }), failing('b', { parentIds: ['a'] })];
    expect(shown(loop).length).toBeGreaterThan(0);
  });

  it('says why in one sentence, and has every check once', () => {
    const facts = ['a', 'b', 'c', 'd'].map((id) => failing(id, { hop: '10.1.1.1' }));
    const groups = causes(facts, quiet);
    expect(groups.map(({ reason }) => reason)).toEqual([
      'On the way to 4 targets of 4 checks nothing behind 10.1.1.1 answers.',
    ]);
    expect(groups.flatMap(({ members }) => members)).toHaveLength(4);
  });
});

describe('evidence', () => {
  const read = (code: string, message: string, detail: object | null = null) =>
    evidenceOf(
      { code, message, detail: detail && JSON.stringify(detail) },
      { request: { url: 'https://SHOP.test/x' } },
    );

  it('is where the run went, else what the check asks', () => {
    expect(read('CONNECTION_REFUSED', 'no')).toMatchObject({
      host: 'shop.test',
      address: null,
      fromLocation: null,
    });
    const detail = { request: { hostname: 'db.test' }, response: { resolvedIp: '10.0.0.7' } };
    expect(read('NO_REPLY', 'no', detail)).toMatchObject({
      ...{ host: 'db.test', address: '10.0.0.7', symptom: 'unreachable', fromLocation: 'network' },
    });
  });

  it('is the certificate, the rule, the router that said no', () => {
    const validTo = '2026-01-01T00:00:00.000Z';
    const response = { certificate: { subject: '*.test', issuer: 'CA', validTo } };
    expect(read('TLS_CERTIFICATE_INVALID', 'expired', { response }).certificate).toBe(
      `*.test, issued by CA, valid to ${validTo}`,
    );
    const refused = 'a connection to 10.9.0.1 (a.test) is refused by the rule 10.9.0.0/16 of EGRESS_DENY';
    expect(read('EGRESS_DENIED', refused).egressRule).toBe('by the rule 10.9.0.0/16 of EGRESS_DENY');
    const msg =
      'Diagnosis: traceroute.txt: there is no way on, says the last hop (it ended in hop 3, 10.1.1.2)';
    expect(read('CONNECTION_TIMEOUT', 'no', { jobLog: { request: [{ msg }] } }).hop).toBe('10.1.1.2');
    const pingResults = [{ error: 'unreachable', from: '10.1.1.1' }];
    expect(read('HOST_UNREACHABLE', 'no', { response: { pingResults } }).hop).toBe('10.1.1.1');
  });

  it('is what a script says of the network', () => {
    expect(
      read('SCRIPT_FAILED', 'page.goto: net::ERR_CONNECTION_REFUSED at https://pay.test/a'),
    ).toMatchObject({
      ...{ symptom: 'unreachable', host: 'pay.test' },
    });
    expect(read('SCRIPT_FAILED', 'connect ECONNREFUSED 10.0.0.5:443')).toMatchObject({ address: '10.0.0.5' });
    expect(read('SCRIPT_FAILED', 'expected 3 to be 4')).toMatchObject({ symptom: 'content' });
    expect(read('STATUS_UNEXPECTED', 'Unexpected status 503', { response: { status: 503 } }).symptom).toBe(
      'unwell',
    );
  });

  it('takes no failure by content for the location or the path, whatever its code and what it quotes', () => {
    const quoted =
      'Expected "Shop", received "connect ETIMEDOUT 10.0.0.5:5432 net::ERR_TIMED_OUT at https://db.test/"';
    const codes = Object.keys(failureCatalogue) as FailureCode[];
    const failingBy = (code: FailureCode, message: string) =>
      ['a', 'b', 'c'].map((id) => failing(id, { ...read(code, message), host: `${id}.test` }));
    const crowd = { targetsAt: new Map([['lab', 3]]) };
    const content = codes.filter((code) => read(code, 'expected 3 to be 4').symptom === 'content');
    expect(content).toEqual(expect.arrayContaining(['SCRIPT_FAILED', 'STEP_FAILED', 'STATUS_UNEXPECTED']));
    const isOwn = (code: FailureCode) => ['target', 'config'].includes(failureCatalogue[code].owner);
    for (const code of content.filter(isOwn)) {
      const kinds = causes(failingBy(code, 'expected 3 to be 4'), { ...quiet, ...crowd });
      expect(
        kinds.map(({ kind }) => kind),
        code,
      ).toEqual(['check', 'check', 'check']);
    }
    // Only scripts speak of the network themselves: what others quote is the target's.
    for (const code of content.filter(
      (one) => !['SCRIPT_FAILED', 'SCRIPT_TIMED_OUT', 'STEP_FAILED'].includes(one),
    )) {
      expect(read(code, quoted), code).toMatchObject({ symptom: 'content', host: 'shop.test' });
    }
    const silent =
      'page.goto: Timeout 30000ms exceeded.\nCall log:\n  - navigating to "https://shop.test/", waiting until "load"';
    const grouped = causes(failingBy('SCRIPT_FAILED', silent), { ...quiet, ...crowd });
    expect(grouped.map(({ kind }) => kind)).toEqual(['location']);
    const missing = "locator.click: Timeout 30000ms exceeded.\nCall log:\n  - waiting for locator('#buy')";
    expect(read('SCRIPT_FAILED', missing)).toMatchObject({ symptom: 'content', fromLocation: null });
  });

  it('knows the registered part of a name by its shape', () => {
    expect(['www.shop.co.uk', 'a.shop.test', 'localhost', '10.0.0.5'].map(domainOf)).toEqual([
      'shop.co.uk',
      'shop.test',
      null,
      null,
    ]);
  });
});
