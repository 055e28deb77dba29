import { createServer, type Socket } from 'node:net';
import { afterAll, describe, expect, it } from 'vitest';
import { startTlsProtocols } from '../../../src/checks/ssl/spec.ts';
import { certificateFlaws } from '../../helpers/targets/broken-certificates.ts';
import type { CertificateOptions } from '../../helpers/targets/certificates.ts';
import { listen } from '../../helpers/targets/listening.ts';
import { openSslStage, runSslMonitor as run } from '../../helpers/tls/ssl-stage.ts';
import { type StartTlsBehaviour, startStartTlsTarget } from '../../helpers/tls/starttls-target.ts';
import { startBrokenTlsTarget, startTlsTarget } from '../../helpers/tls/tls-target.ts';

const stage = await openSslStage();
const { authority, flawed, stapled, stranger, kept } = stage;
afterAll(() => stage.close());

const sound = await authority.issue();
const withIssuer = async (options: CertificateOptions) => await authority.issue(options);
const flawedWith = async (name: string) => await flawed.issue(certificateFlaws[name]);

describe('STARTTLS', () => {
  const codes: Partial<Record<StartTlsBehaviour, string>> = {
    refuses: 'STARTTLS_REFUSED',
    conceals: 'STARTTLS_REFUSED',
    'hangs-up': 'STARTTLS_REFUSED',
    'is-injected': 'RESPONSE_MALFORMED',
    'talks-without-end': 'RESPONSE_MALFORMED',
  };

  it.each(startTlsProtocols)('of %s is requested, and its failures have their codes', async (startTls) => {
    const passed = await run(await kept(startStartTlsTarget(startTls, sound)), { startTls });
    expect([passed.failure, passed.detail.response?.protocol]).toEqual([undefined, 'TLS1.3']);
    expect(passed.detail.response?.timingPhases.startTls).toBeGreaterThan(0);
    const {
      dns = 0,
      connection = 0,
      tls = 0,
      startTls: asking = 0,
      total,
    } = passed.detail.response?.timingPhases ?? {};
    expect(dns + connection + asking + tls).toBeCloseTo(total ?? 0, 2);
    for (const [behaviour, code] of Object.entries(codes)) {
      // MySQL has no consent, and endless text is not a MySQL greeting.
      if (startTls === 'mysql' && ['hangs-up', 'is-injected'].includes(behaviour)) continue;
      const target = await kept(startStartTlsTarget(startTls, sound, behaviour as StartTlsBehaviour));
      const { failure } = await run(target, { startTls });
      expect([behaviour, failure?.code, failure?.owner]).toEqual([behaviour, code, 'target']);
    }
  });
});

describe('another protocol behind STARTTLS', () => {
  /** Sends these bytes at once, or after receiving data, and then stays silent. */
  const speaking = (words: Buffer | string, isAsked = false) => {
    const server = createServer((socket) => {
      socket.on('error', () => socket.destroy());
      if (isAsked) socket.once('data', () => socket.write(words));
      else socket.write(words);
    });
    return kept(listen(server, { scheme: 'tcp' }));
  };

  it.each(['ldap', 'mysql', 'xmpp'])('%s is distinguished from it at once', async (startTls) => {
    for (const words of ['220 mail.example ESMTP\r\n', 'SSH-2.0-OpenSSH_9.2\r\n', '+OK\r\n', '-ERR\r\n']) {
      const { failure } = await run(await speaking(words), { startTls, handshakeTimeoutMs: 10_000 });
      expect([words, failure?.code, failure?.owner]).toEqual([words, 'RESPONSE_MALFORMED', 'target']);
    }
  });

  it.each(['3080', '308000', '3084ffffffff', '30ff', '3089', '0000'])(
    'invalid LDAP is malformed, and not a fault of ours: %s',
    async (hex) => {
      const target = await speaking(Buffer.from(hex, 'hex'), true);
      expect((await run(target, { startTls: 'ldap' })).failure?.code).toBe('RESPONSE_MALFORMED');
    },
  );
});

describe('the output of an SSL monitor', () => {
  it('includes the chain as sent, and the path to an authority', async () => {
    const { key, cert } = await flawed.issue();
    const target = await kept(startTlsTarget({ key, cert }));
    const { detail, failure, certificateExpiresAt } = await run(target);
    expect(failure).toBeUndefined();
    expect(detail.response?.chain.map(({ subjectCN }) => subjectCN)).toEqual(['localhost', 'Picket issuer']);
    expect(detail.response?.path).toMatchObject([
      { subjectCN: 'localhost', wasSent: true },
      { subjectCN: 'Picket issuer', wasSent: true },
      { subjectCN: 'Picket flawed root', wasSent: false },
    ]);
    expect(detail.response?.certificate).toMatchObject({
      sans: ['localhost'],
      keyAlgorithm: 'RSA',
      keySizeBits: 2048,
      signatureAlgorithm: 'SHA256-RSA',
      selfSigned: false,
      isCA: false,
    });
    // The issuer's certificate expires first, because it was created first.
    const ends = detail.response?.chain.map(({ notAfter }) => Date.parse(notAfter ?? ''));
    expect(certificateExpiresAt).toBe(Math.min(...(ends ?? [])));
  });

  it.each(['good', 'revoked'] as const)('includes a staple that says %s', async (status) => {
    const target = await kept(startTlsTarget(stapled.identity, { staple: stapled.staple(status) }));
    const { detail } = await run(target);
    expect(detail.response).toMatchObject({ ocspStapled: true, ocspStatus: status });
    expect(Date.parse(detail.response?.ocsp?.nextUpdate ?? '')).toBeGreaterThan(Date.now());
    expect(detail.response?.ocsp?.revokedAt).toBe(status === 'revoked' ? '2025-01-01T00:00:00.000Z' : null);
  });

  it('reports a staple that is invalid, or about another certificate', async () => {
    for (const staple of [Buffer.from('no response'), Buffer.from([0x30, 0x84, 0xff, 0xff, 0xff, 0xff])]) {
      const target = await kept(startTlsTarget(stapled.identity, { staple }));
      expect((await run(target)).detail.response?.ocspStatus).toBe('malformed');
    }
    const target = await kept(startTlsTarget(sound, { staple: stapled.staple('good') }));
    expect((await run(target)).detail.response?.ocspStatus).toBe('malformed');
  });
});

describe('the verdict of an SSL monitor', () => {
  it('depends on weaknesses below its baseline, by severity', async () => {
    const old = await kept(startTlsTarget(sound, { minVersion: 'TLSv1', maxVersion: 'TLSv1.1' }));
    const small = await kept(startTlsTarget(await flawedWith('a key of 1024 bits')));
    const sha1 = await kept(startTlsTarget(await flawedWith('an issuer with a signature of SHA-1')));
    for (const [target, rule, sentence] of [
      [old, 'minTLSVersion', 'The target negotiated TLS1.1'],
      [small, 'minKeySizeBits', 'The key of the certificate of localhost is weak: RSA of 1024 bits'],
      [sha1, 'weakSignatureAlgorithm', 'The signature of the certificate of Picket issuer is weak: SHA1-RSA'],
    ] as const) {
      const failed = await run(target);
      expect(failed.failure).toMatchObject({
        code: 'TLS_BASELINE_VIOLATED',
        message: expect.stringContaining(sentence),
      });
      expect(failed.detail.baselineVerdict).toBe('fail');
      const degraded = await run(target, { securityBaseline: { [rule]: { severity: 'degrade' } } });
      expect([degraded.failure, degraded.isDegraded]).toEqual([undefined, true]);
      expect(degraded.detail.degradedReasons).toEqual([expect.stringContaining(sentence)]);
      const ignored = await run(target, { securityBaseline: { [rule]: { severity: 'ignore' } } });
      expect([ignored.failure, ignored.isDegraded]).toEqual([undefined, false]);
      const off = await run(target, { securityBaseline: { enabled: false } });
      expect([off.failure, off.detail.baselineVerdict]).toEqual([undefined, null]);
    }
  });

  it('depends on rules that are ignored by default, once they are enabled', async () => {
    const demanding = await withIssuer({ isStapleRequired: true });
    const target = await kept(startTlsTarget(demanding));
    expect((await run(target)).failure).toBeUndefined();
    const securityBaseline = {
      ocspMustStapleRespected: { severity: 'fail' },
      sctPresent: { severity: 'fail' },
      recommendedKeySizeBits: { value: 7680, severity: 'fail' },
    };
    const { errorMessages } = await run(target, { securityBaseline });
    expect(errorMessages).toEqual([
      expect.stringContaining('ECDSA of 256 bits'),
      expect.stringContaining('requires a stapled OCSP response'),
      expect.stringContaining('no signed certificate timestamp'),
    ]);
  });

  it('depends on the remaining days', async () => {
    const target = await kept(startTlsTarget(await withIssuer({ toDays: 10 })));
    const degraded = await run(target);
    expect([degraded.failure, degraded.isDegraded]).toEqual([undefined, true]);
    expect(degraded.detail.degradedReasons).toEqual([
      expect.stringMatching(/^A certificate expires in 9 days/),
    ]);
    const never = await run(target, { alertDaysBeforeExpiry: null });
    expect([never.failure, never.isDegraded]).toEqual([undefined, false]);
    const failed = await run(target, { failDaysBeforeExpiry: 10 });
    expect(failed.failure).toMatchObject({ code: 'TLS_CERTIFICATE_EXPIRING' });
  });

  it('without trust still checks names and dates', async () => {
    const config = { skipChainValidation: true };
    const unknown = await kept(startTlsTarget(await stranger.issue()));
    expect((await run(unknown)).failure?.code).toBe('TLS_CERTIFICATE_INVALID');
    expect((await run(unknown, config)).failure).toBeUndefined();
    const named = await run(unknown, { ...config, serverName: 'other.example' });
    expect(named.failure?.message).toContain("is not in the cert's altnames");
    const expired = await kept(startTlsTarget(await stranger.issue({ fromDays: -9, toDays: -1 })));
    expect((await run(expired, config)).failure?.message).toContain('has expired');
  });

  it('is inverted by shouldFail', async () => {
    const good = await kept(startTlsTarget(sound));
    expect((await run(good, {}, { shouldFail: true })).failure?.code).toBe('CONNECTION_UNEXPECTED');
    const bad = await kept(startTlsTarget(await stranger.issue()));
    expect((await run(bad, {}, { shouldFail: true })).failure).toBeUndefined();
    const plain = await kept(startBrokenTlsTarget('answers in plain HTTP'));
    expect((await run(plain, {}, { shouldFail: true })).failure).toBeUndefined();
    // A server that closes the connection has revealed nothing about its TLS.
    const hangsUp: readonly ((socket: Socket) => void)[] = [
      (socket) => socket.resetAndDestroy(),
      (socket) => socket.end(),
      (socket) => socket.once('data', () => socket.resetAndDestroy()),
      (socket) => socket.once('data', () => socket.end()),
    ];
    for (const hangUp of hangsUp) {
      const target = await kept(listen(createServer(hangUp), { scheme: 'tcp' }));
      const { failure } = await run(target, {}, { shouldFail: true });
      expect([hangUp.toString(), failure?.owner]).toEqual([hangUp.toString(), 'target']);
    }
    const closing = await kept(startStartTlsTarget('smtp', sound, 'hangs-up'));
    expect((await run(closing, { startTls: 'smtp' }, { shouldFail: true })).failure?.owner).toBe('target');
    const refusing = await kept(startStartTlsTarget('smtp', sound, 'refuses'));
    expect((await run(refusing, { startTls: 'smtp' }, { shouldFail: true })).failure).toBeUndefined();
    const denied = { hostname: '169.254.169.254', port: 443 };
    expect((await run(good, denied, { shouldFail: true })).failure?.code).toBe('EGRESS_DENIED');
  });

  it('depends on assertions over all findings', async () => {
    const target = await kept(startTlsTarget(sound, { ALPNProtocols: ['h2'] }));
    const { detail: seen } = await run(target, { alpnProtocols: ['h2'] });
    const { fingerprintSha256 = '' } = seen.response?.certificate ?? {};
    const assert = (source: string, property: string, comparison: string, text: string) => ({
      ...{ source, property, comparison },
      target: text,
    });
    const holding = [
      assert('CERTIFICATE', 'daysUntilExpiry', 'GREATER_THAN', '28'),
      assert('CERTIFICATE', 'chainDaysUntilExpiry', 'LESS_THAN', '31'),
      assert('CERTIFICATE', 'keySizeBits', 'EQUALS', '256'),
      assert('CERTIFICATE', 'keyAlgorithm', 'EQUALS', 'ECDSA'),
      assert('CERTIFICATE', 'signatureAlgorithm', 'EQUALS', 'ECDSA-SHA256'),
      assert('CERTIFICATE', 'issuerCN', 'CONTAINS', 'test authority'),
      assert('CERTIFICATE', 'sans', 'CONTAINS', '127.0.0.1'),
      assert('CERTIFICATE', 'sans', 'NOT_CONTAINS', 'other.example'),
      assert('CERTIFICATE', 'selfSigned', 'EQUALS', 'false'),
      assert('CERTIFICATE', 'sctCount', 'EQUALS', '0'),
      assert('CERTIFICATE', 'chainLength', 'GREATER_THAN', '0'),
      assert('CERTIFICATE', 'issuerFingerprintSha256', 'NOT_NULL', ''),
      assert(
        'CERTIFICATE',
        'fingerprintSha256',
        'EQUALS',
        fingerprintSha256.toUpperCase().replace(/..(?!$)/g, '$&:'),
      ),
      assert('CONNECTION', 'tlsVersion', 'GREATER_THAN', 'TLS1.2'),
      assert('CONNECTION', 'tlsVersion', 'EQUALS', 'TLSv1.3'),
      assert('CONNECTION', 'cipherSuite', 'CONTAINS', 'TLS_AES_'),
      assert('CONNECTION', 'alpnProtocol', 'EQUALS', 'h2'),
      assert('CONNECTION', 'chainTrusted', 'EQUALS', 'true'),
      assert('CONNECTION', 'hostnameVerified', 'EQUALS', 'true'),
      assert('CONNECTION', 'ocspStapled', 'EQUALS', 'false'),
      assert('CONNECTION', 'ocspStatus', 'IS_NULL', ''),
      assert('CONNECTION', 'resolvedIp', 'EQUALS', '127.0.0.1'),
      assert('RESPONSE_TIME', '', 'LESS_THAN', '5000'),
      assert('JSON_RESPONSE', '$.certificate.subjectCN', 'EQUALS', 'localhost'),
      assert('TEXT_RESPONSE', '"protocol":"(TLS[^"]+)"', 'EQUALS', 'TLS1.3'),
    ];
    const passed = await run(target, { alpnProtocols: ['h2'] }, { assertions: holding });
    expect(passed.errorMessages).toEqual([]);
    const [days, , , , , , , , self] = holding;
    const opposite = [
      { ...days, target: '365' },
      { ...self, target: 'true' },
    ];
    const failed = await run(target, {}, { assertions: opposite });
    expect(failed.errorMessages).toHaveLength(2);
    expect(failed.failure?.code).toBe('ASSERTION_FAILED');
  });

  it('is timed by the kernel, phase by phase', async () => {
    const target = await kept(startTlsTarget(sound));
    const { measurement, detail, responseTimeMs } = await run(target);
    expect(measurement?.clock).toBe('kernel');
    expect(detail.response?.timingPhases.total).toBe(responseTimeMs);
    expect(detail.response?.timingPhases.tls).toBeGreaterThan(0);
  });

  it.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'leaves no broken handshake at a server of %s',
    async (version) => {
      const target = await kept(startTlsTarget(sound, { minVersion: version, maxVersion: version }));
      for (let runs = 0; runs < 5; runs += 1) expect((await run(target)).failure).toBeUndefined();
      await expect.poll(() => target.handshakeCount()).toBe(5);
    },
  );

  it('presents the client certificate of the account, if configured', async () => {
    const client = await authority.issue({ hosts: ['client.example'] });
    const seen: (string | undefined)[] = [];
    const target = await kept(
      startTlsTarget(sound, {
        requestCert: true,
        rejectUnauthorized: false,
        maxVersion: 'TLSv1.2',
        ca: authority.cert,
      }),
    );
    const context = { clientCertificates: [{ host: 'localhost', ...client }] };
    for (const clientCertificateMode of [null, 'auto']) {
      const { failure } = await run(target, { clientCertificateMode }, { context });
      seen.push(failure?.code);
    }
    expect(seen).toEqual([undefined, undefined]);
    const demanding = await kept(
      startTlsTarget(sound, {
        requestCert: true,
        rejectUnauthorized: true,
        maxVersion: 'TLSv1.2',
        ca: authority.cert,
      }),
    );
    const shown = await run(demanding, { clientCertificateMode: 'auto' }, { context });
    expect(shown.failure).toBeUndefined();
    expect((await run(demanding, {}, { context })).failure?.code).toBe('TLS_HANDSHAKE_FAILED');
  });
});
