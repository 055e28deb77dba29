import { createSecureContext } from 'node:tls';
import { afterAll, expect, it } from 'vitest';
import { startTlsProtocols } from '../../../src/checks/ssl/spec.ts';
import { sampleOf } from '../../helpers/night.ts';
import { certificateFlaws } from '../../helpers/targets/broken-certificates.ts';
import type { CertificateOptions } from '../../helpers/targets/certificates.ts';
import type { Target } from '../../helpers/targets/listening.ts';
import { askOpenssl } from '../../helpers/tls/openssl-client.ts';
import { openSslStage, runSslMonitor } from '../../helpers/tls/ssl-stage.ts';
import { startStartTlsTarget } from '../../helpers/tls/starttls-target.ts';
import {
  type BrokenHandshake,
  brokenHandshakes,
  startBrokenTlsTarget,
  startTlsTarget,
} from '../../helpers/tls/tls-target.ts';

const stage = await openSslStage();
const { authority, flawed, stapled, stranger, kept } = stage;
afterAll(() => stage.close());

const sound = await authority.issue();
const withIssuer = async (options: CertificateOptions) => await authority.issue(options);
const certificatesOf = (text: string) => text.match(/-----BEGIN[\s\S]+?-----END CERTIFICATE-----\n?/g) ?? [];

type Start = () => Promise<Target>;
interface Compared {
  readonly start: Start;
  readonly name?: string;
  readonly config?: Record<string, unknown>;
}

/** This program and `openssl s_client` both connect to each of these. */
const compared: Record<string, Compared> = {
  'a sound server': { start: () => startTlsTarget(sound) },
  'its address': { start: () => startTlsTarget(sound), name: '127.0.0.1' },
  'another address': {
    start: async () => await startTlsTarget(await withIssuer({ hosts: ['127.0.0.9'] })),
    name: '127.0.0.1',
  },
  'another name': { start: () => startTlsTarget(sound), name: 'other.example' },
  'a wildcard': {
    start: async () => await startTlsTarget(await withIssuer({ hosts: ['*.shop.example'] })),
    name: 'www.shop.example',
  },
  'a wildcard, one label too deep': {
    start: async () => await startTlsTarget(await withIssuer({ hosts: ['*.shop.example'] })),
    name: 'a.www.shop.example',
  },
  'an expired certificate': {
    start: async () => await startTlsTarget(await withIssuer({ fromDays: -9, toDays: -1 })),
  },
  'a certificate of tomorrow': {
    start: async () => await startTlsTarget(await withIssuer({ fromDays: 1, toDays: 9 })),
  },
  'a certificate that ends today': {
    start: async () => await startTlsTarget(await withIssuer({ toDays: 0.5 })),
  },
  'an unknown authority': { start: async () => await startTlsTarget(await stranger.issue()) },
  'P-384': { start: async () => await startTlsTarget(await withIssuer({ curve: 'P-384' })) },
  'P-521': { start: async () => await startTlsTarget(await withIssuer({ curve: 'P-521' })) },
  'a chain with an intermediate': { start: async () => await startTlsTarget(await flawed.issue()) },
  'a missing intermediate': {
    start: async () => {
      const { key, cert } = await flawed.issue();
      return await startTlsTarget({ key, cert: certificatesOf(cert)[0] ?? '' });
    },
  },
  'a chain with its root': {
    start: async () => {
      const { key, cert } = await flawed.issue();
      return await startTlsTarget({ key, cert: `${cert}${flawed.cert}` });
    },
  },
  'a chain with a certificate that does not belong': {
    start: async () => {
      const { key, cert } = await flawed.issue();
      const [leaf = '', ...rest] = certificatesOf(cert);
      return await startTlsTarget({ key, cert: [leaf, stranger.cert, ...rest].join('\n') });
    },
  },
  'a chain with an expired certificate that does not belong': {
    start: async () => {
      const { key, cert } = await flawed.issue();
      const old = await stranger.issue({ fromDays: -9, toDays: -1 });
      return await startTlsTarget({ key, cert: `${cert}${old.cert}` });
    },
  },
  'a large key': {
    start: async () => await startTlsTarget(await flawed.issue({ leaf: { modulusLength: 4096 } })),
  },
  ...Object.fromEntries(
    Object.keys(certificateFlaws).map((flaw) => [
      flaw,
      { start: async () => await startTlsTarget(await flawed.issue(certificateFlaws[flaw])) },
    ]),
  ),
  ...Object.fromEntries(
    (['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'] as const).map((version) => [
      `${version} alone`,
      { start: () => startTlsTarget(sound, { minVersion: version, maxVersion: version }) },
    ]),
  ),
  'one cipher': {
    start: () =>
      startTlsTarget(sound, { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-SHA:@SECLEVEL=0' }),
  },
  'a protocol that is offered': {
    start: () => startTlsTarget(sound, { ALPNProtocols: ['h2', 'http/1.1'] }),
    config: { alpnProtocols: ['http/1.1', 'h2'] },
  },
  'a protocol that nobody offers': {
    start: () => startTlsTarget(sound, { ALPNProtocols: ['h2'] }),
    config: { alpnProtocols: ['acme-tls/1'] },
  },
  'no protocol at all': { start: () => startTlsTarget(sound), config: { alpnProtocols: ['h2'] } },
  'a stapled response': {
    start: () => startTlsTarget(stapled.identity, { staple: stapled.staple('good') }),
  },
  'a stapled revocation': {
    start: () => startTlsTarget(stapled.identity, { staple: stapled.staple('revoked') }),
  },
  'a client certificate that is wanted, in TLS 1.3': {
    start: () => startTlsTarget(sound, { requestCert: true, minVersion: 'TLSv1.3' }),
  },
  'a client certificate that is wanted, in TLS 1.2': {
    start: () => startTlsTarget(sound, { requestCert: true, maxVersion: 'TLSv1.2' }),
  },
  'another certificate for the name': {
    start: async () => {
      const other = await withIssuer({ hosts: ['shop.example'] });
      return await startTlsTarget(sound, {
        SNICallback: (name, callback) =>
          callback(null, name === 'shop.example' ? createSecureContext(other) : undefined),
      });
    },
    name: 'shop.example',
  },
  ...Object.fromEntries(
    Object.keys(brokenHandshakes).map((behaviour) => [
      `a server that ${behaviour}`,
      { start: () => startBrokenTlsTarget(behaviour as BrokenHandshake) },
    ]),
  ),
  ...Object.fromEntries(
    startTlsProtocols.flatMap((startTls) =>
      (['consents', 'refuses', 'conceals', 'hangs-up'] as const)
        // MySQL sends no reply that could be cut off.
        .filter((behaviour) => startTls !== 'mysql' || behaviour !== 'hangs-up')
        .map((behaviour) => [
          `STARTTLS of ${startTls}: ${behaviour}`,
          { start: () => startStartTlsTarget(startTls, sound, behaviour), config: { startTls } },
        ]),
    ),
  ),
};

/** OpenSSL's codes for a mismatch of the name, and of the address. */
const nameCodes = [62, 64];

it('reports the same as openssl s_client', {
  timeout: 300_000,
}, async () => {
  expect(Object.keys(compared).length).toBeGreaterThan(75);
  const names = [...sampleOf(Object.keys(compared), 6)];
  const differences: unknown[] = [];
  const compareNext = async (): Promise<void> => {
    const title = names.shift();
    const given = compared[title ?? ''];
    if (title === undefined || !given) return;
    const { start, name = 'localhost', config = {} } = given;
    const target = await kept(start());
    const isAddress = /^[\d.]+$/.test(name);
    const named = isAddress ? { hostname: '127.0.0.1', serverName: null } : { serverName: name };
    const { detail } = await runSslMonitor(
      target,
      { ...named, ...config, handshakeTimeoutMs: 30_000 },
      { context: { timeoutMs: 30_000 } },
    );
    const { startTls, alpnProtocols } = config as { startTls?: string; alpnProtocols?: string[] };
    const theirs = await askOpenssl({
      port: target.port,
      name,
      authorityFile: stage.authorityFile,
      startTls,
      alpnProtocols,
    });
    const { response } = detail;
    const isMade = response?.handshakeTimeMs !== null;
    const { verifyCode } = theirs;
    const ours = {
      isMade,
      protocol: response?.protocol?.replace('TLS', 'TLSv') ?? null,
      isTrusted: isMade ? response?.chainTrusted : null,
      isNamed: isMade && response?.chainTrusted ? response?.hostnameVerified : null,
      alpn: response?.alpnProtocol ?? null,
      chain: response?.chain.map(({ fingerprintSha256 }) => fingerprintSha256),
      isStapled: response?.ocspStapled ?? false,
    };
    const isTrusted = verifyCode === 0 || nameCodes.includes(verifyCode ?? 0);
    const expected = {
      isMade: theirs.isMade,
      protocol: theirs.protocol,
      isTrusted: theirs.isMade ? isTrusted : null,
      isNamed: theirs.isMade && isTrusted ? verifyCode === 0 : null,
      alpn: theirs.alpnProtocol,
      chain: theirs.isMade ? theirs.chain : [],
      isStapled: theirs.isStapled,
    };
    if (JSON.stringify(ours) !== JSON.stringify(expected)) {
      differences.push({ title, ours, expected, requestError: detail.requestError });
    }
    await compareNext();
  };
  await Promise.all([compareNext(), compareNext(), compareNext(), compareNext()]);
  expect(differences).toEqual([]);
});
