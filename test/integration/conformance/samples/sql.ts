import { startPostgresTarget } from '../../../helpers/targets/postgres-target.ts';
import { closedPort, startTcpTarget } from '../../../helpers/targets/tcp-target.ts';
import type { Samples } from './samples.ts';

const request = { hostname: '127.0.0.1', username: 'picket', password: 'right', useSSL: false };
const assertion = { source: 'VALUE', comparison: 'EQUALS', target: '1' };
const withRequest = (rest: object) => ({ request: { ...request, ...rest } });

export const samples: Samples = {
  minimal: { request: { hostname: '127.0.0.1', username: 'picket' } },
  refused: {
    'request.engine': withRequest({ engine: 'ORACLE' }),
    'request.hostname': withRequest({ hostname: 'postgres://db' }),
    'request.port': withRequest({ port: 0 }),
    'request.database': withRequest({ database: 'd'.repeat(201) }),
    'request.username': withRequest({ username: '' }),
    'request.password': withRequest({ password: 'p'.repeat(1001) }),
    'request.ipFamily': withRequest({ ipFamily: 'IPv5' }),
    'request.skipSSL': withRequest({ skipSSL: true }),
    'request.serverName': withRequest({ serverName: 'db.example' }),
    'request.query': withRequest({ query: '' }),
    'request.statementTimeoutMs': withRequest({ statementTimeoutMs: 25_001 }),
    'request.assertions.0.source': withRequest({ assertions: [{ ...assertion, source: 'CONNECTION' }] }),
    'request.assertions.0.comparison': withRequest({ assertions: [{ ...assertion, comparison: 'HAS_KEY' }] }),
    degradedResponseTime: { request, degradedResponseTime: 30_001 },
    maxResponseTime: { request, maxResponseTime: -1 },
  },
  async start() {
    const server = await startPostgresTarget((statement) => {
      if (statement === 'hang up') return 'hang-up';
      if (statement === 'hang') return 'silence';
      if (statement === 'select x') return { sqlState: '42703', message: 'column "x" does not exist' };
      return { rows: ['1'] };
    });
    const silent = await startTcpTarget('silent');
    const greeting = await startTcpTarget('banner-in-pieces');
    const to = ({ port }: { readonly port: number }, rest: object = {}) => withRequest({ port, ...rest });
    return {
      passing: to(server, { assertions: [assertion] }),
      failing: [
        { name: 'a wrong password', body: to(server, { password: 'wrong' }), code: 'REQUEST_REFUSED' },
        { name: 'a wrong query', body: to(server, { query: 'select x' }), code: 'REQUEST_REFUSED' },
        { name: 'no TLS', body: to(server, { useSSL: true }), code: 'STARTTLS_REFUSED' },
        { name: 'a broken connection', body: to(server, { query: 'hang up' }), code: 'CONNECTION_RESET' },
        { name: 'another protocol', body: to(greeting), code: 'RESPONSE_MALFORMED' },
        { name: 'silence', body: to(silent), code: 'RESPONSE_TIMEOUT', timeoutMs: 250 },
        { name: 'a closed port', body: to({ port: await closedPort() }), code: 'CONNECTION_REFUSED' },
        {
          name: 'an assertion',
          body: to(server, { assertions: [{ ...assertion, target: '2' }] }),
          code: 'ASSERTION_FAILED',
        },
        {
          name: 'an answer that should not come',
          body: { ...to(server), shouldFail: true },
          code: 'REPLY_UNEXPECTED',
        },
        {
          name: 'a slow answer',
          body: { ...to(server), maxResponseTime: 0 },
          code: 'MAX_RESPONSE_TIME_EXCEEDED',
        },
        {
          name: 'a name that does not exist',
          body: to(server, { hostname: 'nothing.invalid' }),
          code: 'NAME_NOT_FOUND',
        },
        { name: 'a template that is none', body: to(server, { query: '{{#if}}' }), code: 'TEMPLATE_INVALID' },
        { name: 'a host that is none', body: to(server, { hostname: 'a b{{X}}' }), code: 'HOST_INVALID' },
        { name: 'a user that is empty', body: to(server, { username: '{{X}}' }), code: 'REQUEST_INVALID' },
        {
          name: 'an address that is closed',
          body: to(server, { hostname: '169.254.169.254' }),
          code: 'EGRESS_DENIED',
        },
      ],
      hanging: to(server, { query: 'hang' }),
      close: async () => {
        await Promise.all([server, silent, greeting].map((target) => target.close()));
      },
    };
  },
};
