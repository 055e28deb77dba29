import { protoText, startGrpcServer } from '../../../helpers/grpc/grpc-server.ts';
import {
  startMisbehavingServer,
  startNoisyServer,
  startShapedServer,
} from '../../../helpers/grpc/hostile-server.ts';
import { createAuthority } from '../../../helpers/targets/certificates.ts';
import { startFilteredTarget } from '../../../helpers/targets/filtered-target.ts';
import { closedPort } from '../../../helpers/targets/tcp-target.ts';
import type { FailingSample, Samples } from './samples.ts';

const call = { method: 'shop.v1.Orders/Get', message: '{"id": "one"}', tls: false };
const request = { url: '127.0.0.1', port: 1, grpcConfig: call };
const withConfig = (config: object) => ({ request: { ...request, grpcConfig: { ...call, ...config } } });
const asserted = (assertion: object) => ({
  request: {
    ...request,
    assertions: [{ source: 'GRPC_STATUS_CODE', comparison: 'EQUALS', target: '0', ...assertion }],
  },
});

export const samples: Samples = {
  minimal: { request: { url: '127.0.0.1', port: 1, grpcConfig: { method: 'a.B/C' } } },
  refused: {
    'request.url': { request: { ...request, url: 'https://example.com' } },
    'request.port': { request: { ...request, port: 65_536 } },
    'request.ipFamily': { request: { ...request, ipFamily: 'IPv5' } },
    'request.timeout': { request: { ...request, timeout: 181 } },
    'request.serverName': { request: { ...request, serverName: 'example.com' } },
    'request.traceparentHosts.0': { request: { ...request, traceparentHosts: ['https://example.com'] } },
    'request.grpcConfig.mode': withConfig({ mode: 'WATCH' }),
    'request.grpcConfig.method': withConfig({ method: 'Get' }),
    'request.grpcConfig.service': withConfig({ service: 'shop' }),
    'request.grpcConfig.message': withConfig({ message: '{id}' }),
    'request.grpcConfig.streamMessages': withConfig({ streamMessages: 0 }),
    'request.grpcConfig.serviceDefinition': withConfig({ serviceDefinition: 'GUESS' }),
    'request.grpcConfig.protoContent': withConfig({ protoContent: 'message A {}' }),
    'request.grpcConfig.metadata.0.key': withConfig({ metadata: [{ key: '', value: 'x' }] }),
    'request.assertions.0.source': asserted({ source: 'STATUS_CODE' }),
    'request.assertions.0.target': asserted({ target: 'GOOD' }),
    degradedResponseTime: { request, degradedResponseTime: 180_001 },
    maxResponseTime: { request, maxResponseTime: -1 },
  },
  async start() {
    const authority = await createAuthority();
    const sound = await startGrpcServer();
    const secure = await startGrpcServer({ identity: await authority.issue() });
    const mute = await startGrpcServer({ reflection: [] });
    const served = {
      silent: await startMisbehavingServer('says nothing'),
      resetting: await startMisbehavingServer('resets the stream at once'),
      http1: await startNoisyServer('answers in HTTP/1'),
      garbled: await startShapedServer('gzip that is none'),
      bare: await startShapedServer('no trailers'),
    };
    const filtered = await startFilteredTarget();
    const to = ({ port }: { readonly port: number }, config: object = {}, rest: object = {}) => ({
      request: { ...request, port, grpcConfig: { ...call, ...config }, ...rest },
    });
    const health = { mode: 'HEALTH', method: '', message: '' };
    const closed = { port: await closedPort() };
    const file = { serviceDefinition: 'PROTO_FILE', protoContent: protoText('shop') };
    const failing: FailingSample[] = [
      { name: 'a closed port', body: to(closed), code: 'CONNECTION_REFUSED' },
      { name: 'a filtered port', body: to(filtered), code: 'CONNECTION_TIMEOUT', timeoutMs: 250 },
      { name: 'another status', body: to(sound, { message: '{"id": "code-5"}' }), code: 'STATUS_UNEXPECTED' },
      {
        name: 'a service that is closed',
        body: to(sound, { ...health, service: 'closed' }),
        code: 'SERVICE_NOT_SERVING',
      },
      { name: 'no reflection', body: to(mute), code: 'GRPC_REFLECTION_FAILED' },
      {
        name: 'a method that is not there',
        body: to(sound, { method: 'shop.v1.Orders/Lose' }),
        code: 'GRPC_REFLECTION_FAILED',
      },
      {
        name: 'a service that is not there',
        body: to(sound, { method: 'shop.v2.Orders/Get' }),
        code: 'GRPC_REFLECTION_FAILED',
      },
      {
        name: 'a message with another field',
        body: to(sound, { message: '{"name": "one"}' }),
        code: 'REQUEST_INVALID',
      },
      {
        name: 'metadata that nobody can send',
        body: to(sound, { metadata: [{ key: 'grpc-timeout', value: '1S' }] }),
        code: 'REQUEST_INVALID',
      },
      { name: 'an unknown authority', body: to(secure, { tls: true }), code: 'TLS_CERTIFICATE_INVALID' },
      { name: 'TLS where none is spoken', body: to(sound, { tls: true }), code: 'TLS_HANDSHAKE_FAILED' },
      { name: 'an answer in HTTP/1', body: to(served.http1, health), code: 'RESPONSE_MALFORMED' },
      { name: 'an answer without trailers', body: to(served.bare, health), code: 'RESPONSE_MALFORMED' },
      {
        name: 'an answer that cannot be decompressed',
        body: to(served.garbled, health),
        code: 'RESPONSE_UNDECODABLE',
      },
      { name: 'a stream that is reset', body: to(served.resetting, health), code: 'CONNECTION_RESET' },
      { name: 'silence', body: to(served.silent, health), code: 'RESPONSE_TIMEOUT', timeoutMs: 250 },
      {
        name: 'another answer',
        body: to(sound, file, {
          assertions: [{ source: 'GRPC_RESPONSE', property: '$.id', comparison: 'EQUALS', target: 'two' }],
        }),
        code: 'ASSERTION_FAILED',
      },
      {
        name: 'a status that should be another',
        body: { ...to(sound), shouldFail: true },
        code: 'STATUS_UNEXPECTED',
      },
      {
        name: 'the metadata service',
        body: to({ port: 443 }, {}, { url: '169.254.169.254' }),
        code: 'EGRESS_DENIED',
      },
      { name: 'a template that is none', body: to(closed, { message: '{{#if}}' }), code: 'TEMPLATE_INVALID' },
      { name: 'a host that is none', body: to(closed, {}, { url: 'a b{{X}}' }), code: 'HOST_INVALID' },
    ];
    return {
      passing: to(
        sound,
        {},
        {
          assertions: [
            { source: 'GRPC_RESPONSE', property: '$.address.street', comparison: 'EQUALS', target: 'Main' },
          ],
        },
      ),
      failing,
      hanging: to(served.silent, health),
      async close() {
        await Promise.all(
          [sound, secure, mute, filtered, ...Object.values(served)].map((one) => one.close()),
        );
      },
    };
  },
};
