import { setDefaultCACertificates } from 'node:tls';
import { loadSync, type MessageTypeDefinition } from '@grpc/proto-loader';
import { afterAll, describe, expect, it } from 'vitest';
import { grpc } from '../../../src/checks/grpc/check.ts';
import { warmUp } from '../../../src/checks/grpc/run.ts';
import { GrpcSpec } from '../../../src/checks/grpc/spec.ts';
import { ProtoSyntaxError, parseProtoFile } from '../../../src/lib/proto/proto-file.ts';
import { fileDescriptorOf, ProtoMethod, readFileDescriptor } from '../../../src/lib/proto/registry.ts';
import { protoText, startGrpcServer } from '../../helpers/grpc/grpc-server.ts';
import { asGet, asHealth, runGrpcMonitor } from '../../helpers/grpc/grpc-stage.ts';
import { startShapedServer } from '../../helpers/grpc/hostile-server.ts';
import { createAuthority } from '../../helpers/targets/certificates.ts';

const authority = await createAuthority();
const identity = await authority.issue();
setDefaultCACertificates([authority.cert]);
await warmUp();
const sound = await startGrpcServer();
afterAll(() => sound.close());

const file = { serviceDefinition: 'PROTO_FILE', protoContent: protoText('shop') };
const shop = { service: 'shop.v1.Orders', method: 'Get' };

describe('a gRPC monitor', () => {
  it('shows the response, and its phases add up', async () => {
    const { detail, failure, measurement, responseTimeMs } = await runGrpcMonitor(sound);
    expect(failure).toBeUndefined();
    const { response, request } = detail;
    expect(response).toMatchObject({
      ...{
        grpcMethod: 'shop.v1.Orders/Get',
        grpcStatusCode: 0,
        grpcStatusName: 'OK',
        isStatusFromServer: true,
      },
      ...{ messageCount: 1, healthStatus: null, resolvedIp: '127.0.0.1', ipFamily: 'IPv4', truncated: false },
      trailers: [{ key: 'x-trailer', value: 'behind' }],
      discoveredMethods: ['shop.v1.Orders/Get', 'shop.v1.Orders/List', 'shop.v1.Orders/Put'],
    });
    expect(JSON.parse(response?.responseMessage ?? '')).toEqual({
      ...{ id: 'one', state: 'STATE_OPEN', amounts: { small: '5' }, at: '1970-01-02T00:00:00Z' },
      ...{ address: { street: 'Main', kind: 'WORK' }, counts: [1, -1], note: 'noted', price: 1.5 },
      ...{ token: '', paid: false },
    });
    expect(request.message).toBe('{"id":"one"}');
    const {
      dns = 0,
      connect = 0,
      tls = 0,
      settings = 0,
      wait = 0,
      download = 0,
      total = 0,
    } = response?.timingPhases ?? {};
    expect(dns + connect + tls + settings + wait + download).toBeCloseTo(total, 2);
    expect([wait > 0, (response?.reflectionTimeMs ?? 0) > 0, total]).toEqual([true, true, responseTimeMs]);
    expect(measurement?.clock).toBe('kernel');
    expect(grpc.summary(detail).phases).toHaveLength(6);
  });

  it('judges status, message, metadata and health by assertions', async () => {
    const assertions = [
      { source: 'GRPC_STATUS_CODE', comparison: 'EQUALS', target: 'OK' },
      { source: 'GRPC_RESPONSE', property: '$.amounts.small', comparison: 'EQUALS', target: '5' },
      { source: 'GRPC_RESPONSE', property: '$.counts[1]', comparison: 'LESS_THAN', target: '0' },
      { source: 'TEXT_BODY', comparison: 'CONTAINS', target: 'Main' },
      { source: 'GRPC_METADATA', property: 'x-trailer', comparison: 'EQUALS', target: 'behind' },
      { source: 'GRPC_METADATA', property: 'content-type', comparison: 'CONTAINS', target: 'grpc' },
      { source: 'CONNECTION', property: 'ipFamily', comparison: 'EQUALS', target: 'IPv4' },
      { source: 'RESPONSE_TIME', comparison: 'GREATER_THAN', target: '-1' },
    ];
    const passed = await runGrpcMonitor(sound, asGet, { request: { assertions } });
    expect(passed.detail.assertions.map(({ error }) => error)).toEqual(assertions.map(() => null));
    const wanted = [{ source: 'GRPC_STATUS_CODE', comparison: 'EQUALS', target: 'NOT_FOUND' }];
    const missing = { ...asGet, message: '{"id": "code-5"}' };
    expect(
      (await runGrpcMonitor(sound, missing, { request: { assertions: wanted } })).failure,
    ).toBeUndefined();
    expect((await runGrpcMonitor(sound, missing, { shouldFail: true })).failure).toBeUndefined();
    const closed = { ...asHealth, service: 'closed' };
    const ill = [{ source: 'GRPC_HEALTHCHECK_STATUS', comparison: 'EQUALS', target: 'NOT_SERVING' }];
    expect((await runGrpcMonitor(sound, closed, { request: { assertions: ill } })).failure).toBeUndefined();
    expect((await runGrpcMonitor(sound, closed, { shouldFail: true })).failure).toBeUndefined();
    expect((await runGrpcMonitor(sound, closed)).failure?.code).toBe('SERVICE_NOT_SERVING');
  });

  it('sends metadata and templates, and hides credentials', async () => {
    const metadata = [
      { key: 'X-Asked', value: '{{NAME}}' },
      { key: 'x-asked', value: 'twice' },
      { key: 'authorization', value: 'Bearer hidden' },
    ];
    const config = { ...asGet, message: '{"id": "{{WHAT}}"}', metadata };
    const context = { variables: { NAME: 'once', WHAT: 'echo' } };
    const { detail } = await runGrpcMonitor(sound, config, { context });
    expect(JSON.parse(detail.response?.responseMessage ?? '').id).toBe('once, twice');
    expect(JSON.stringify(detail)).not.toContain('hidden');
    const traced = await runGrpcMonitor(sound, asGet, { request: { traceparentHosts: ['127.*'] } });
    expect(traced.detail.request.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  });

  it('reads a stream to its end, or leaves it if allowed', async () => {
    const list = (id: string, rest: object = {}) => ({
      ...{ ...asGet, method: '/shop.v1.Orders/List', message: JSON.stringify({ id }) },
      ...rest,
    });
    const whole = await runGrpcMonitor(sound, list('7'));
    expect(JSON.parse(whole.detail.response?.responseMessage ?? '')).toHaveLength(7);
    const left = await runGrpcMonitor(sound, list('endless', { streamMessages: 3 }));
    expect([left.failure, left.detail.response?.messageCount, left.detail.response?.isStreamLeft]).toEqual([
      undefined,
      3,
      true,
    ]);
    const endless = await runGrpcMonitor(sound, list('endless'));
    expect([endless.failure?.code, endless.detail.response?.grpcStatusName]).toEqual([
      'STATUS_UNEXPECTED',
      'RESOURCE_EXHAUSTED',
    ]);
  });

  it('presents the client certificate of the account', async () => {
    await using server = await startGrpcServer({ identity, clientAuthority: authority.cert });
    const config = { ...asHealth, tls: true };
    const without = await runGrpcMonitor(server, config, { request: { url: 'localhost' } });
    expect(without.failure?.code).toBe('TLS_HANDSHAKE_FAILED');
    const own = await authority.issue({ hosts: ['client'] });
    const context = { clientCertificates: [{ host: 'localhost', cert: own.cert, key: own.key }] };
    const { failure, detail, certificateExpiresAt } = await runGrpcMonitor(server, config, {
      context,
      request: { url: 'localhost' },
    });
    expect([failure, detail.response?.healthStatusLabel]).toEqual([undefined, 'SERVING']);
    expect(detail.response?.certificate?.protocol).toBe('TLSv1.3');
    expect(certificateExpiresAt).toBeGreaterThan(Date.now());
  });

  it('accepts descriptors that omit derivable parts', async () => {
    const definition = loadSync(`${import.meta.dirname}/../../helpers/grpc/health.proto`);
    const { fileDescriptorProtos } = definition[
      'grpc.health.v1.HealthCheckResponse'
    ] as MessageTypeDefinition<object, object>;
    const [bytes = Buffer.alloc(0)] = fileDescriptorProtos;
    const types = new ProtoMethod([readFileDescriptor(bytes)], {
      service: 'grpc.health.v1.Health',
      method: 'Check',
    });
    expect(types.decode(Buffer.from([8, 1]))).toEqual({ status: 'SERVING' });
  });

  it.each([
    ['no descriptor', Buffer.from('nothing of the kind')],
    ['a descriptor without its imports', descriptorWith('import-of-nothing')],
    ['a file that imports itself', descriptorWith('check.proto')],
    ['a file without the service', Buffer.from([10, 1, 97])],
  ])('is not misled by reflection that sends %s', async (_, bytes) => {
    await using server = await startGrpcServer({ descriptors: [bytes] });
    expect((await runGrpcMonitor(server)).failure?.code).toBe('GRPC_REFLECTION_FAILED');
  });

  it('keeps nothing of a decompression bomb', async () => {
    await using server = await startShapedServer('a bomb of gzip');
    const before = process.memoryUsage.rss();
    for (let run = 0; run < 5; run += 1) {
      expect((await runGrpcMonitor(server, asHealth)).detail.response?.grpcStatusCode).toBe(8);
    }
    expect(process.memoryUsage.rss() - before).toBeLessThan(200 * 1024 * 1024);
  });
});

function descriptorWith(dependency: string): Buffer {
  const name = Buffer.from('\x0a\x0bcheck.proto');
  return Buffer.concat([name, Buffer.from([0x1a, dependency.length]), Buffer.from(dependency)]);
}

describe('a .proto file', () => {
  it('has the same meaning as in another library', () => {
    const types = new ProtoMethod([fileDescriptorOf(parseProtoFile(protoText('shop')))], shop);
    const other = loadSync(`${import.meta.dirname}/../../helpers/grpc/shop.proto`, {
      longs: String,
      enums: String,
    });
    const request = other['shop.v1.GetRequest'] as unknown as { deserialize(bytes: Buffer): unknown };
    const order = other['shop.v1.Order'] as unknown as { serialize(value: unknown): Buffer };
    expect(
      request.deserialize(Buffer.from(types.encode('{"id": "a", "limit": 0, "tags": ["x", "y"]}'))),
    ).toMatchObject({
      ...{ id: 'a', limit: 0, tags: ['x', 'y'] },
    });
    const bytes = order.serialize({
      id: 'a',
      state: 'STATE_LOST',
      otherPlace: 'b',
      counts: [-5],
      parent: { id: 'c' },
    });
    expect(types.decode(bytes)).toMatchObject({
      ...{ id: 'a', state: 'STATE_LOST', elsewhere: 'b', counts: [-5], parent: { id: 'c' } },
    });
  });

  it.each([
    ['syntax = "proto4";', /line 1: .*proto4/],
    ['edition = "2023";', /editions/],
    ['message A {', /the end of the file/],
    ['message A {\n  string = 1;\n}', /line 2/],
    ['message A { Missing b = 1; }', /type Missing is not defined in the file/],
    ['message A {} message A {}', /defined twice/],
    ['message A { map<float, string> b = 1; }', /key of a map/],
    ['message A { optional group B = 1 {} }', /groups/],
    ['enum A {}', /no values/],
    ['service A { rpc B(C) returns (C); }', /type C is not defined in the file/],
    [`${'message A {'.repeat(40)}`, /nested/],
    ['message A { string b = 1 [', /the end of the file/],
    ['%', /unexpected/],
    ['"', /unexpected/],
    ['/* without an end', /found "\/"/],
    ['x'.repeat(200_001), /200001 characters/],
  ])('is refused with the position: %s', (text, problem) => {
    expect(() => parseProtoFile(text)).toThrow(ProtoSyntaxError);
    expect(() => parseProtoFile(text)).toThrow(problem);
  });

  it('is refused when the check is saved, and so are methods that it does not define', () => {
    const problems = (config: object) =>
      grpc.definitionProblems?.(
        GrpcSpec.parse({ request: { url: 'a', port: 1, grpcConfig: { ...asGet, ...file, ...config } } }),
      );
    expect(problems({})).toEqual([]);
    expect(problems({ protoContent: 'message {' })?.[0]?.path.at(-1)).toBe('protoContent');
    expect(problems({ method: 'shop.v1.Orders/Lose' })?.[0]?.path.at(-1)).toBe('method');
    expect(problems({ method: 'shop.v1.Orders/Put' })?.[0]?.message).toContain('takes a stream');
  });
});
