import { describe, expect, it } from 'vitest';
import { type FailureCode, failureCatalogue } from '../../../src/checks/contract/failure.ts';
import { evidenceOf } from '../../../src/service/alerts/causes/evidence.ts';
import type { CauseContext, FailingCheck } from '../../../src/service/alerts/causes/failing-check.ts';
import { causes } from '../../../src/service/alerts/causes/grouping/causes.ts';
import { domainOf } from '../../../src/service/alerts/causes/grouping/targets.ts';
import { wholeDetail } from '../../helpers/whole-detail.ts';

const quiet: CauseContext = { unhealthy: new Map(), targetsAt: new Map(), parents: new Map() };

function failing(checkId: string, fields: Partial<FailingCheck> = {}): FailingCheck {
  return {
    ...{ checkId, name: checkId, since: 0, slotAt: 0, intervalMs: 60_000, parentIds: [] },
    ...{ symptom: 'unreachable', fromLocation: null, host: `${checkId}.test`, address: null, hop: null },
    ...{ nameServer: null, certificate: null, egressRule: null, content: null },
    ...{ failedAt: ['lab'], passedAt: [] },
    ...fields,
  };
}

describe('evidence', () => {
  const read = (code: string, message: string, detail: object | null = null, type = 'URL') =>
    evidenceOf(
      {
        ...{ check_type: type, code, message, failure_details: null },
        detail: detail && JSON.stringify(wholeDetail(type, detail)),
      },
      'shop.test',
    );

  it("is the run's last host, or that of the check", () => {
    expect(read('CONNECTION_REFUSED', 'no')).toMatchObject({
      host: 'shop.test',
      address: null,
      fromLocation: null,
    });
    const detail = { request: { hostname: 'db.test' }, response: { resolvedIp: '10.0.0.7' } };
    expect(read('NO_REPLY', 'no', detail, 'ICMP')).toMatchObject({
      ...{ host: 'db.test', address: '10.0.0.7', symptom: 'unreachable', fromLocation: 'network' },
    });
  });

  it('is the certificate, the rule, or the router that refused', () => {
    const validTo = '2026-01-01T00:00:00.000Z';
    const response = { certificate: { subject: '*.test', issuer: 'CA', validTo } };
    expect(read('TLS_CERTIFICATE_INVALID', 'expired', { response }).certificate).toEqual({
      ...{ subject: '*.test', issuer: 'CA', validTo },
    });
    const refused = 'a connection to 10.9.0.1 (a.test) is refused by the rule 10.9.0.0/16 of EGRESS_DENY';
    expect(read('EGRESS_DENIED', refused).egressRule).toBe('by the rule 10.9.0.0/16 of EGRESS_DENY');
    const msg =
      'Diagnosis: traceroute.txt: there is no way on, says the last hop (it ended in hop 3, 10.1.1.2)';
    expect(read('CONNECTION_TIMEOUT', 'no', { jobLog: { request: [{ msg }] } }).hop).toBe('10.1.1.2');
    const route = { end: 'unreachable', router: '10.1.1.3', hops: [] };
    expect(read('CONNECTION_TIMEOUT', 'no', { route }).hop).toBe('10.1.1.3');
    const pingResults = [{ error: 'unreachable', from: '10.1.1.1' }];
    expect(read('HOST_UNREACHABLE', 'no', { response: { pingResults } }, 'ICMP').hop).toBe('10.1.1.1');
  });

  it("is a script's message about the network", () => {
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

  it('attributes no content failure to the location or the path, whatever its code and its quotes', () => {
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
    // Only scripts report network errors in their own words: messages of other types quote the target.
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

  it('recognizes the registered part of a name by its form', () => {
    expect(['www.shop.co.uk', 'a.shop.test', 'localhost', '10.0.0.5'].map(domainOf)).toEqual([
      'shop.co.uk',
      'shop.test',
      null,
      null,
    ]);
  });
});
