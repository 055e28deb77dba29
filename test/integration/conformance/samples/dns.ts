import { a, answerTo, startDnsServer } from '../../../helpers/dns/dns-server.ts';
import type { FailingSample, Samples } from './samples.ts';

const request = { query: 'www.example.test', recordType: 'A' };

export const samples: Samples = {
  minimal: { request },
  refused: {
    'request.query': { request: { ...request, query: 'a'.repeat(101) } },
    'request.recordType': { request: { ...request, recordType: 'ANY' } },
    'request.recordClass': { request: { ...request, recordClass: 'CH' } },
    'request.port': { request: { ...request, nameServer: '192.0.2.53' } },
    'request.nameServer': { request: { ...request, port: 53 } },
    'request.nameServers.0': { request: { ...request, nameServers: ['ns.test:99999'] } },
    'request.serversToPass': { request: { ...request, serversToPass: 'ANY' } },
    'request.protocol': { request: { ...request, protocol: 'QUIC' } },
    'request.recursionDesired': { request: { ...request, recursionDesired: 'no' } },
    'request.dnssecOk': { request: { ...request, dnssecOk: 1 } },
    'request.assertions.0.source': {
      request: { ...request, assertions: [{ source: 'STATUS_CODE', comparison: 'EQUALS', target: '1' }] },
    },
    'request.assertions.0.comparison': {
      request: { ...request, assertions: [{ source: 'RESPONSE_CODE', comparison: 'IS_NICE', target: '1' }] },
    },
    degradedResponseTime: { request, degradedResponseTime: 5001 },
    maxResponseTime: { request, maxResponseTime: -1 },
  },
  async start() {
    const server = await startDnsServer(async (query) => {
      const { name } = query.question;
      if (name === 'silent.test') return [];
      if (name === 'missing.test') return [answerTo(query, [], { rcode: 3 })];
      if (name === 'broken.test') return [answerTo(query, []).subarray(0, 20)];
      if (name === 'slow.test') await new Promise((resolve) => setTimeout(resolve, 60));
      return [answerTo(query, [a(name, '192.0.2.1')])];
    });
    const body = (query: string, rest: object = {}) => ({
      request: { query, recordType: 'A', nameServer: '127.0.0.1', port: server.port, ...rest },
    });
    const otherAddress = [{ source: 'TEXT_ANSWER', comparison: 'EQUALS', target: '192.0.2.2' }];
    const failing: FailingSample[] = [
      { name: 'NXDOMAIN', body: body('missing.test'), code: 'RESPONSE_CODE_UNEXPECTED' },
      {
        name: 'an assertion',
        body: body('www.example.test', { assertions: otherAddress }),
        code: 'ASSERTION_FAILED',
      },
      {
        name: 'a slow answer',
        body: { ...body('slow.test'), maxResponseTime: 20 },
        code: 'MAX_RESPONSE_TIME_EXCEEDED',
      },
      { name: 'silence', body: body('silent.test'), code: 'DNS_NO_ANSWER', timeoutMs: 200 },
      { name: 'no DNS', body: body('broken.test'), code: 'RESPONSE_MALFORMED' },
      { name: 'a closed port', body: body('www.example.test', { port: 1 }), code: 'CONNECTION_REFUSED' },
      {
        name: 'a closed port over TCP',
        body: body('www.example.test', { port: 1, protocol: 'TCP' }),
        code: 'CONNECTION_REFUSED',
      },
      {
        name: 'an address that is closed',
        body: body('www.example.test', { nameServer: '169.254.169.254' }),
        code: 'EGRESS_DENIED',
      },
      { name: 'a template that is none', body: body('{{#if}}'), code: 'TEMPLATE_INVALID' },
      { name: 'a name that is none', body: body('two words'), code: 'REQUEST_INVALID' },
      {
        name: 'a name server that is none',
        body: body('www.example.test', { nameServer: 'two words' }),
        code: 'HOST_INVALID',
      },
    ];
    return {
      passing: body('www.example.test'),
      failing,
      hanging: body('silent.test'),
      close: () => server.close(),
    };
  },
};
