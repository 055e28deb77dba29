import { createAuthority } from '../../../helpers/targets/certificates.ts';
import { startFilteredTarget } from '../../../helpers/targets/filtered-target.ts';
import { closedPort, startTcpTarget } from '../../../helpers/targets/tcp-target.ts';
import { closeAll, type FailingSample, type Samples } from './samples.ts';

const sslConfig = { hostname: '127.0.0.1', port: 1 };
const assertion = { source: 'CERTIFICATE', property: 'subjectCN', comparison: 'EQUALS', target: 'localhost' };
const withConfig = (rest: object) => ({ request: { sslConfig: { ...sslConfig, ...rest } } });
const withAssertion = (rest: object) => ({
  request: { sslConfig, assertions: [{ ...assertion, ...rest }] },
});

export const samples: Samples = {
  minimal: { request: { sslConfig: { hostname: '127.0.0.1' } } },
  refused: {
    'request.sslConfig.hostname': withConfig({ hostname: 'https://example.com' }),
    'request.sslConfig.port': withConfig({ port: 65_536 }),
    'request.sslConfig.ipFamily': withConfig({ ipFamily: 'IPv5' }),
    'request.sslConfig.serverName': withConfig({ serverName: '*.example.com' }),
    'request.sslConfig.startTls': withConfig({ startTls: 'nntp' }),
    'request.sslConfig.alpnProtocols.0': withConfig({ alpnProtocols: [''] }),
    'request.sslConfig.handshakeTimeoutMs': withConfig({ handshakeTimeoutMs: 999 }),
    'request.sslConfig.alertDaysBeforeExpiry': withConfig({ alertDaysBeforeExpiry: 366 }),
    'request.sslConfig.failDaysBeforeExpiry': withConfig({ failDaysBeforeExpiry: 21 }),
    'request.sslConfig.clientCertificateMode': withConfig({ clientCertificateMode: 'explicit' }),
    'request.sslConfig.securityBaseline.minTLSVersion.value': withConfig({
      securityBaseline: { minTLSVersion: { value: 'SSL3' } },
    }),
    'request.sslConfig.securityBaseline.minKeySizeBits.value': withConfig({
      securityBaseline: { minKeySizeBits: { value: 1 } },
    }),
    'request.sslConfig.securityBaseline.sctPresent.severity': withConfig({
      securityBaseline: { sctPresent: { severity: 'warn' } },
    }),
    'request.assertions.0.source': withAssertion({ source: 'STATUS_CODE' }),
    'request.assertions.0.property': withAssertion({ property: 'tlsVersion' }),
    'request.assertions.0.comparison': withAssertion({ comparison: 'HAS_KEY' }),
    degradedResponseTime: { ...withConfig({}), degradedResponseTime: 30_001 },
    maxResponseTime: { ...withConfig({}), maxResponseTime: -1 },
  },
  async start() {
    const authority = await createAuthority();
    const identities = {
      sound: await authority.issue(),
      other: await authority.issue({ hosts: ['other.example'] }),
      expired: await authority.issue({ fromDays: -9, toDays: -1 }),
      ending: await authority.issue({ toDays: 3 }),
    };
    const targets = {
      sound: await startTcpTarget('silent', { identity: identities.sound }),
      other: await startTcpTarget('silent', { identity: identities.other }),
      expired: await startTcpTarget('silent', { identity: identities.expired }),
      ending: await startTcpTarget('silent', { identity: identities.ending }),
      plain: await startTcpTarget('echo'),
      closing: await startTcpTarget('close'),
      silent: await startTcpTarget('silent'),
      trickle: await startTcpTarget('trickle'),
    };
    const filtered = await startFilteredTarget();
    const to = (target: { readonly port: number }, rest: object = {}, assertions: object[] = []) => ({
      request: {
        sslConfig: { ...sslConfig, port: target.port, skipChainValidation: true, ...rest },
        assertions,
      },
    });
    const closed = { port: await closedPort() };
    const failing: FailingSample[] = [
      { name: 'a closed port', body: to(closed), code: 'CONNECTION_REFUSED' },
      { name: 'a filtered port', body: to(filtered), code: 'CONNECTION_TIMEOUT', timeoutMs: 250 },
      {
        name: 'an unknown authority',
        body: to(targets.sound, { skipChainValidation: false }),
        code: 'TLS_CERTIFICATE_INVALID',
      },
      { name: 'another name', body: to(targets.other), code: 'TLS_CERTIFICATE_INVALID' },
      { name: 'an expired certificate', body: to(targets.expired), code: 'TLS_CERTIFICATE_INVALID' },
      {
        name: 'a certificate that ends soon',
        body: to(targets.ending, { failDaysBeforeExpiry: 5 }),
        code: 'TLS_CERTIFICATE_EXPIRING',
      },
      {
        name: 'a key that is too small',
        body: to(targets.sound, { securityBaseline: { minKeySizeBits: { value: 4096 } } }),
        code: 'TLS_BASELINE_VIOLATED',
      },
      { name: 'no TLS', body: to(targets.plain), code: 'TLS_HANDSHAKE_FAILED' },
      { name: 'a handshake that is cut', body: to(targets.closing), code: 'TLS_HANDSHAKE_FAILED' },
      { name: 'bytes without end', body: to(targets.trickle), code: 'TLS_HANDSHAKE_FAILED' },
      {
        name: 'another protocol',
        body: to(targets.plain, { startTls: 'mysql' }),
        code: 'RESPONSE_TIMEOUT',
        timeoutMs: 250,
      },
      { name: 'an echo', body: to(targets.plain, { startTls: 'postgres' }), code: 'RESPONSE_MALFORMED' },
      {
        name: 'an open port',
        body: { ...to(targets.sound), shouldFail: true },
        code: 'CONNECTION_UNEXPECTED',
      },
      {
        name: 'another subject',
        body: to(targets.sound, {}, [{ ...assertion, target: 'other.example' }]),
        code: 'ASSERTION_FAILED',
      },
      {
        name: 'the metadata service',
        body: to({ port: 443 }, { hostname: '169.254.169.254' }),
        code: 'EGRESS_DENIED',
      },
      {
        name: 'a template that is none',
        body: to(closed, { serverName: '{{#if}}' }),
        code: 'TEMPLATE_INVALID',
      },
      { name: 'a host that is none', body: to(closed, { hostname: 'a b{{X}}' }), code: 'HOST_INVALID' },
    ];
    return {
      passing: to(targets.sound, {}, [assertion]),
      failing,
      hanging: to(targets.silent),
      close: async () => {
        await closeAll(Object.values(targets))();
        await filtered.close();
      },
    };
  },
};
