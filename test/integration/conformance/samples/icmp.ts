import type { Samples } from './samples.ts';

const hostname = '127.0.0.1';
const request = { hostname };
const latency = { source: 'LATENCY', property: 'avg', comparison: 'LESS_THAN', target: '100' };

export const samples: Samples = {
  minimal: { request },
  refused: {
    'request.hostname': { request: { hostname: '' } },
    'request.ipFamily': { request: { hostname, ipFamily: 'IPv5' } },
    'request.pingCount': { request: { hostname, pingCount: 51 } },
    'request.packetSize': { request: { hostname, packetSize: 15 } },
    'request.dontFragment': { request: { hostname, dontFragment: 'yes' } },
    'request.assertions.0.source': {
      request: { hostname, assertions: [{ ...latency, source: 'STATUS_CODE' }] },
    },
    'request.assertions.0.property': { request: { hostname, assertions: [{ ...latency, property: 'p95' }] } },
    'request.assertions.0.comparison': {
      request: { hostname, assertions: [{ ...latency, comparison: 'HAS_KEY' }] },
    },
    degradedResponseTime: { request, degradedResponseTime: 300_001 },
    maxResponseTime: { request, maxResponseTime: -1 },
    degradedPacketLossThreshold: { request, degradedPacketLossThreshold: 0 },
    // Below the default of degradedPacketLossThreshold.
    maxPacketLossThreshold: { request, maxPacketLossThreshold: 9.9 },
  },
  // Loopback replies everywhere; tests that need network namespaces are in test/system/checks/icmp-checks.test.ts.
  start: async () => ({
    passing: { request: { hostname, pingCount: 2, assertions: [latency] } },
    failing: [
      {
        name: 'an assertion',
        body: { request: { hostname, pingCount: 1, assertions: [{ ...latency, target: '0' }] } },
        code: 'ASSERTION_FAILED',
      },
      {
        name: 'a slow reply',
        body: { request: { hostname, pingCount: 1 }, maxResponseTime: 0 },
        code: 'MAX_RESPONSE_TIME_EXCEEDED',
      },
      {
        name: 'a reply that should not come',
        body: { request: { hostname, pingCount: 1 }, shouldFail: true },
        code: 'REPLY_UNEXPECTED',
      },
      {
        name: 'a name that does not exist',
        body: { request: { hostname: 'nobody.invalid' } },
        code: 'NAME_NOT_FOUND',
      },
      {
        name: 'a template that is none',
        body: { request: { hostname: '{{#if}}' } },
        code: 'TEMPLATE_INVALID',
      },
      {
        name: 'a URL instead of a host',
        body: { request: { hostname: 'http://x.test/' } },
        code: 'HOST_INVALID',
      },
      {
        name: 'an address that is closed',
        body: { request: { hostname: '169.254.169.254' } },
        code: 'EGRESS_DENIED',
      },
    ],
    // Fifty requests take half a minute.
    hanging: { request: { hostname, pingCount: 50 } },
    close: async () => undefined,
  }),
};
