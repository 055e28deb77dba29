import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runDns } from '../../../src/checks/dns/run.ts';
import { DnsSpec } from '../../../src/checks/dns/spec.ts';
import { HttpDetail } from '../../../src/checks/http/detail.ts';
import { runTcp } from '../../../src/checks/tcp/run.ts';
import { TcpSpec } from '../../../src/checks/tcp/spec.ts';
import { runUrl } from '../../../src/checks/url/run.ts';
import { UrlSpec } from '../../../src/checks/url/spec.ts';
import { answerTo, startDnsServer } from '../../helpers/dns/dns-server.ts';
import { runContext } from '../../helpers/run-context.ts';
import { createAuthority } from '../../helpers/targets/certificates.ts';
import { type HttpTarget, startHttpsTarget } from '../../helpers/targets/http-target.ts';

const dayMs = 86_400_000;
const soon = { fromDays: -1, toDays: 5.5 };

describe("additional facts in a run's report", () => {
  let target: HttpTarget;
  beforeAll(async () => {
    const identity = await (await createAuthority()).issue(soon);
    target = await startHttpsTarget({ identity });
  });
  afterAll(() => target.close());

  const expectExpiry = (expiresAtMs: number | undefined) =>
    expect(((expiresAtMs ?? 0) - Date.now()) / dayMs).toBeCloseTo(5.5, 2);

  it.each([true, false])(
    "include the expiry of a URL's certificate, passed or failed (%s)",
    async (skipSSL) => {
      const spec = UrlSpec.parse({ request: { url: target.url, skipSSL } });
      const { failure, certificateExpiresAt, detail, measurement, responseTimeMs } = await runUrl(
        spec,
        runContext(),
      );
      expect(failure?.code).toBe(skipSSL ? undefined : 'TLS_CERTIFICATE_INVALID');
      expectExpiry(certificateExpiresAt);
      expect(detail.response.certificate).toMatchObject({ subject: 'localhost', daysRemaining: 5 });
      expect(HttpDetail.parse(detail)).toEqual(detail);
      expect(measurement?.overheadMs).toBeGreaterThanOrEqual(0);
      expect(responseTimeMs).toBeGreaterThan(0);
      const { timings, timingPhases } = detail.response;
      if (!skipSSL || !timings || !timingPhases) return;
      // Check model 3.1, to the last stored digit.
      expect(timingPhases.wait).toBe(timings.socket);
      expect(timings.lookup - timings.socket).toBeCloseTo(timingPhases.dns, 2);
      expect(timings.connect - timings.lookup).toBeCloseTo(timingPhases.tcp, 2);
      expect(timings.response - timings.connect).toBeCloseTo(timingPhases.firstByte, 2);
      expect(timings.end - timings.response).toBeCloseTo(timingPhases.download, 2);
      expect(timings.end).toBe(timingPhases.total);
      expect(timingPhases.total).toBe(responseTimeMs);
    },
  );

  it('include the expiry of the certificate behind a TCP port', async () => {
    const request = { hostname: '127.0.0.1', port: target.port, useSSL: true };
    const { failure, certificateExpiresAt, detail } = await runTcp(TcpSpec.parse({ request }), runContext());
    expect(failure?.code).toBe('TLS_CERTIFICATE_INVALID');
    expectExpiry(certificateExpiresAt);
    expect(detail.response.certificate?.daysRemaining).toBe(5);
  });

  it('include how a DNS query was measured', async () => {
    await using server = await startDnsServer((query) => [answerTo(query, [])]);
    const request = { query: 'a.example', recordType: 'A', nameServer: '127.0.0.1', port: server.port };
    const { measurement, responseTimeMs } = await runDns(DnsSpec.parse({ request }), runContext());
    expect(measurement).toMatchObject({ overheadMs: expect.any(Number), lagMs: expect.any(Number) });
    expect(responseTimeMs).toBeGreaterThan(0);
  });

  it('include how it was measured that a DNS query got no reply', async () => {
    await using server = await startDnsServer(() => []);
    const request = { query: 'a.example', recordType: 'A', nameServer: '127.0.0.1', port: server.port };
    for (const shouldFail of [false, true]) {
      const spec = DnsSpec.parse({ request, shouldFail });
      const outcome = await runDns(spec, { ...runContext(), timeoutMs: 150 });
      expect(outcome.failure?.code).toBe(shouldFail ? undefined : 'DNS_NO_ANSWER');
      expect(outcome.measurement).toMatchObject({ clock: 'event', overheadMs: 0, lagMs: 0 });
      expect(outcome.responseTimeMs).toBeGreaterThan(100);
    }
  });
});
