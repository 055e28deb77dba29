import { createServer as createTlsServer } from 'node:tls';
import {
  asserts,
  authority,
  dns,
  https,
  names,
  opened,
  resolver,
  strange,
  tcp,
  tlsOf,
  url,
  way,
  web,
  withRecord,
} from '../../helpers/analyses/fault-stage.ts';
import { evidenceOf, type SeededFault } from '../../helpers/analyses/real-runs.ts';
import { startFilteredTarget } from '../../helpers/targets/filtered-target.ts';
import { startHostileTarget } from '../../helpers/targets/hostile-target.ts';
import { listen } from '../../helpers/targets/listening.ts';
import { startProxyTarget } from '../../helpers/targets/proxy-target.ts';
import { closedPort } from '../../helpers/targets/tcp-target.ts';

/** Faults of names, connections, certificates and routes. */
export const networkFaults: readonly SeededFault[] = [
  {
    name: 'a refused port',
    code: 'CONNECTION_REFUSED',
    evidence: async () =>
      evidenceOf(await url({ request: { url: `http://127.0.0.1:${await closedPort()}/` } })),
    ...{ cause: /refuses connections/, classification: 'INFRASTRUCTURE_ERROR', certainty: 'CERTAIN' },
  },
  {
    name: 'a refused port of a TCP monitor',
    code: 'CONNECTION_REFUSED',
    evidence: async () =>
      evidenceOf(await tcp({ request: { hostname: '127.0.0.1', port: await closedPort() } })),
    ...{ cause: /refuses connections/, classification: 'INFRASTRUCTURE_ERROR', certainty: 'CERTAIN' },
  },
  {
    name: 'a way that ends in silence',
    code: 'NO_REPLY',
    evidence: async () => {
      const { port } = await opened(startFilteredTarget());
      return evidenceOf(await way({ request: { url: '127.0.0.1', port, maxUnknownHops: 1, timeout: 2 } }));
    },
    ...{
      cause: /does not respond, and no router on the path reports a reason/,
      classification: 'INFRASTRUCTURE_ERROR',
      certainty: 'LIKELY',
    },
  },
  {
    name: 'a reset',
    code: 'CONNECTION_RESET',
    evidence: async () => {
      const target = await opened(startHostileTarget('reset-after-request'));
      return evidenceOf(await url({ request: { url: target.url } }));
    },
    ...{
      cause: /reset it before it responded/,
      classification: 'INFRASTRUCTURE_ERROR',
      certainty: 'LIKELY',
    },
  },
  {
    name: 'garbage in the place of HTTP',
    code: 'RESPONSE_MALFORMED',
    evidence: async () => {
      const target = await opened(startHostileTarget('garbage'));
      return evidenceOf(await url({ request: { url: target.url } }));
    },
    ...{ cause: /an invalid response/, classification: 'APPLICATION_ERROR', certainty: 'CERTAIN' },
  },
  {
    name: 'an expired certificate',
    code: 'TLS_CERTIFICATE_INVALID',
    evidence: async () =>
      evidenceOf(await url({ request: { url: await https({ fromDays: -9, toDays: -1 }) } })),
    ...{
      cause: /certificate of localhost expired on/,
      classification: 'CONFIGURATION_ERROR',
      certainty: 'CERTAIN',
    },
  },
  {
    name: 'a certificate of tomorrow',
    code: 'TLS_CERTIFICATE_INVALID',
    evidence: async () =>
      evidenceOf(await url({ request: { url: await https({ fromDays: 1, toDays: 9 }) } })),
    ...{ cause: /not valid yet/, classification: 'CONFIGURATION_ERROR', certainty: 'LIKELY' },
  },
  {
    name: 'a certificate for another name',
    code: 'TLS_CERTIFICATE_INVALID',
    evidence: async () => evidenceOf(await url({ request: { url: await https({ hosts: ['other.test'] }) } })),
    ...{
      cause: /not for the name localhost.*other\.test/,
      classification: 'CONFIGURATION_ERROR',
      certainty: 'CERTAIN',
    },
  },
  {
    name: 'a certificate of an authority nobody knows',
    code: 'TLS_CERTIFICATE_INVALID',
    evidence: async () => evidenceOf(await url({ request: { url: await https({}, strange) } })),
    ...{
      cause: /does not lead to an authority/,
      classification: 'CONFIGURATION_ERROR',
      certainty: 'CERTAIN',
    },
  },
  {
    name: 'TLS with a server that speaks none',
    code: 'TLS_HANDSHAKE_FAILED',
    evidence: async () => evidenceOf(await url({ request: { url: web.url.replace('http:', 'https:') } })),
    ...{ cause: /does not speak TLS/, classification: 'CONFIGURATION_ERROR', certainty: 'LIKELY' },
  },
  {
    name: 'a server that ends the handshake',
    code: 'TLS_HANDSHAKE_FAILED',
    evidence: async () => {
      const target = await tlsOf((socket) => socket.once('data', () => socket.destroy()));
      return evidenceOf(await url({ request: { url: target.url } }));
    },
    ...{
      cause: /closed it during the TLS handshake/,
      classification: 'INFRASTRUCTURE_ERROR',
      certainty: 'LIKELY',
    },
  },
  {
    name: 'a server with an old version of TLS',
    code: 'TLS_HANDSHAKE_FAILED',
    evidence: async () => {
      const server = createTlsServer({
        ...(await authority.issue()),
        ...{ minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' },
      });
      server.on('tlsClientError', () => undefined);
      const target = await opened(listen(server, { scheme: 'https' }));
      return evidenceOf(await url({ request: { url: target.url } }));
    },
    ...{ cause: /share no TLS version/, classification: 'CONFIGURATION_ERROR', certainty: 'LIKELY' },
  },
  {
    name: 'a name that does not exist',
    code: 'NAME_NOT_FOUND',
    evidence: async () => evidenceOf(await url({ request: { url: 'http://gone.test/' } }, resolver())),
    ...{ cause: /gone\.test does not exist/, classification: 'CONFIGURATION_ERROR', certainty: 'CERTAIN' },
  },
  {
    name: 'a resolver that answers SERVFAIL',
    code: 'RESOLVER_FAILED',
    evidence: async () => evidenceOf(await url({ request: { url: 'http://broken.test/' } }, resolver())),
    ...{
      cause: /resolver of lab gave no address.*SERVFAIL/,
      classification: 'INFRASTRUCTURE_ERROR',
      certainty: 'LIKELY',
    },
  },
  {
    name: 'a DNS monitor of a name that was removed',
    code: 'RESPONSE_CODE_UNEXPECTED',
    evidence: async () =>
      evidenceOf(
        await dns({
          request: { query: 'gone.test', recordType: 'A', nameServer: '127.0.0.1', port: names.port },
        }),
      ),
    ...{
      cause: /answers NXDOMAIN for gone\.test A/,
      classification: 'CONFIGURATION_ERROR',
      certainty: 'CERTAIN',
    },
  },
  {
    name: 'a DNS monitor whose server answers SERVFAIL',
    code: 'RESPONSE_CODE_UNEXPECTED',
    evidence: async () =>
      evidenceOf(
        await dns({
          request: { query: 'broken.test', recordType: 'A', nameServer: '127.0.0.1', port: names.port },
        }),
      ),
    ...{
      cause: /answers SERVFAIL for broken\.test/,
      classification: 'INFRASTRUCTURE_ERROR',
      certainty: 'CERTAIN',
    },
  },
  {
    name: 'a name server that is silent',
    code: 'DNS_NO_ANSWER',
    evidence: async () =>
      evidenceOf(
        await dns(
          { request: { query: 'silent.test', recordType: 'A', nameServer: '127.0.0.1', port: names.port } },
          { timeoutMs: 300 },
        ),
      ),
    ...{
      cause: /name server 127\.0\.0\.1 did not respond in time/,
      classification: 'INFRASTRUCTURE_ERROR',
      certainty: 'CERTAIN',
    },
  },
  {
    name: 'a record that was changed',
    code: 'ASSERTION_FAILED',
    evidence: async () => {
      const body = {
        request: {
          ...{ query: 'shop.test', recordType: 'A', nameServer: '127.0.0.1', port: names.port },
          ...asserts('TEXT_ANSWER', '', 'EQUALS', '192.0.2.1'),
        },
      };
      const passed = await dns(body);
      const failing = await withRecord('192.0.2.99', () => dns(body));
      return evidenceOf(failing, { passed: [passed] });
    },
    ...{
      cause: /record of shop\.test A has changed: it is 192\.0\.2\.99, and was 192\.0\.2\.1/,
      classification: 'CONFIGURATION_ERROR',
      certainty: 'CERTAIN',
    },
  },
  {
    name: 'a proxy that wants another password',
    code: 'PROXY_FAILED',
    evidence: async () => {
      const proxy = await opened(startProxyTarget({ username: 'agent', password: 'right' }));
      const proxyUrl = proxy.proxyUrl.replace('right', 'wrong');
      return evidenceOf(await url({ request: { url: await https({}) } }, { proxyUrl }));
    },
    ...{
      cause: /proxy of the location lab does not accept/,
      classification: 'CONFIGURATION_ERROR',
      certainty: 'CERTAIN',
    },
  },
  {
    name: 'an address that the egress policy closes',
    code: 'EGRESS_DENIED',
    evidence: async () => evidenceOf(await url({ request: { url: 'http://169.254.169.254/' } })),
    ...{
      cause: /requests an address that the egress policy of the agents at lab does not allow/,
      classification: 'CONFIGURATION_ERROR',
      certainty: 'CERTAIN',
    },
  },
];
