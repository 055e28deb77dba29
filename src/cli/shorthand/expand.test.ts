import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '@picket/lib/errors.ts';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { parseCheckFile } from '../check-file.ts';
import { expandCheck } from './expand.ts';

/** The checks that a file runs, each with its type and spec, or the problems that the file is refused for. */
function readFrom(content: string): readonly unknown[] | string {
  try {
    return parseCheckFile('memory.yaml', content).checks.map(({ type, spec, variables }) => ({
      checkType: type.name,
      ...spec,
      ...(Object.keys(variables).length > 0 ? { variables } : {}),
    }));
  } catch (error) {
    if (error instanceof AppError && error.code === 'CHECK_FILE_INVALID') return error.message;
    throw error;
  }
}

const request = (fields: string) => ({ request: parse(fields) as unknown });
const status = '{ source: STATUS_CODE, comparison: EQUALS, target: "200" }';

describe('a check file in short forms', () => {
  it.each<readonly [title: string, content: string, checkType: string, spec: object]>([
    ['URL at the top level', 'checkType: URL\nurl: https://a.test/', 'URL', request('url: https://a.test/')],
    ['type instead of checkType', 'type: url\nurl: https://a.test/', 'URL', request('url: https://a.test/')],
    ['HTTP for a plain URL', 'type: HTTP\nurl: https://a.test/', 'URL', request('url: https://a.test/')],
    [
      'HTTP with a body',
      'type: http\nurl: https://a.test/\nbody: { a: 1 }',
      'API',
      request('{ body: "{\\"a\\":1}", bodyType: JSON }'),
    ],
    ['no type but a URL', 'url: https://a.test/', 'URL', request('url: https://a.test/')],
    [
      'a login without a scheme',
      'type: http\nurl: http://a.test\nauth: { username: ada, password: x }',
      'API',
      request('auth: { type: BASIC, username: ada, password: x }'),
    ],
    [
      'a login of a URL monitor',
      'type: url\nurl: http://a.test\nauth: { type: negotiate }',
      'URL',
      request('auth: { type: NEGOTIATE }'),
    ],
    ['a URL without a scheme', 'checkType: URL\nurl: a.test/x', 'URL', request('url: https://a.test/x')],
    ['a host for a URL', 'checkType: URL\nhost: a.test', 'URL', request('url: https://a.test')],
    [
      'a number as target',
      `checkType: URL\nrequest: { url: "http://a.test", assertions: [{ source: STATUS_CODE, comparison: EQUALS, target: 200 }] }`,
      'URL',
      request(`assertions: [${status}]`),
    ],
    [
      'expect',
      'checkType: URL\nurl: http://a.test\nexpect: { status: 200 }',
      'URL',
      request(`assertions: [${status}]`),
    ],
    [
      'assertions as lines',
      'checkType: API\nurl: http://a.test\nassertions: [status == 200, responseTime < 2s, body contains "ok", $.a.b != x, header content-type contains json]',
      'API',
      request(
        `assertions: [${status}, { source: RESPONSE_TIME, comparison: LESS_THAN, target: "2000" }, { source: TEXT_BODY, comparison: CONTAINS, target: ok }, { source: JSON_BODY, property: $.a.b, comparison: NOT_EQUALS, target: x }, { source: HEADERS, property: content-type, comparison: CONTAINS, target: json }]`,
      ),
    ],
    [
      'one assertion without a list',
      'checkType: URL\nurl: http://a.test\nassertions: status==200',
      'URL',
      request(`assertions: [${status}]`),
    ],
    [
      'expect as a text',
      'type: http\nurl: http://a.test\nexpect: all good',
      'API',
      request('assertions: [{ source: TEXT_BODY, comparison: CONTAINS, target: all good }]'),
    ],
    [
      'a message over a WebSocket',
      'type: ws\nurl: wss://a.test/ws\nsend: ping\nexpect: pong',
      'WEBSOCKET',
      request(
        '{ steps: [{ type: SEND, message: ping }, { type: EXPECT }], assertions: [{ source: TEXT_BODY, comparison: CONTAINS, target: pong }] }',
      ),
    ],
    [
      'MySQL by its name',
      'type: MariaDB\nhost: db.test:3307\nusername: ada\nassertions: [value > 0, rows == 1]',
      'SQL',
      request(
        '{ engine: MYSQL, hostname: db.test, port: 3307, assertions: [{ source: VALUE, comparison: GREATER_THAN, target: "0" }, { source: ROW_COUNT, comparison: EQUALS, target: "1" }] }',
      ),
    ],
    [
      'PostgreSQL by its name',
      'type: postgres\nhost: db.test\nusername: ada',
      'SQL',
      request('{ engine: POSTGRESQL, hostname: db.test, port: null }'),
    ],
    ['a datagram', 'type: udp\nhost: a.test:53\nsend: hi', 'UDP', request('{ port: 53, data: hi }')],
    [
      'the health of a gRPC service',
      'type: grpc\nhost: a.test\nport: 50051\nservice: shop.Cart',
      'GRPC',
      request('{ grpcConfig: { mode: HEALTH, service: shop.Cart } }'),
    ],
    [
      'days before the expiry',
      'type: ssl\nhost: a.test\ndaysBeforeExpiry: 14',
      'SSL',
      request('sslConfig: { alertDaysBeforeExpiry: 14 }'),
    ],
    [
      'headers as a mapping',
      'checkType: API\nurl: http://a.test\nheaders: { X-A: b, X-N: 1 }',
      'API',
      request('headers: [{ key: X-A, value: b }, { key: X-N, value: "1" }]'),
    ],
    [
      'a method in lower case',
      'checkType: API\nurl: http://a.test\nmethod: post',
      'API',
      request('method: POST'),
    ],
    [
      'a body as text, unchanged',
      'checkType: API\nurl: http://a.test\nmethod: PUT\nbody: hello',
      'API',
      request('{ body: hello, bodyType: NONE }'),
    ],
    [
      'params',
      'checkType: API\nurl: http://a.test\nparams: { q: x }',
      'API',
      request('queryParameters: [{ key: q, value: x }]'),
    ],
    [
      'TCP with host',
      'checkType: TCP\nhost: db.test\nport: 5432',
      'TCP',
      request('{ hostname: db.test, port: 5432 }'),
    ],
    [
      'TCP with host and port in one',
      'checkType: tcp\nhost: db.test:5432',
      'TCP',
      request('{ hostname: db.test, port: 5432 }'),
    ],
    [
      'TCP over TLS',
      'checkType: TCP\nhost: db.test\nport: "636"\ntls: true',
      'TCP',
      request('{ port: 636, useSSL: true }'),
    ],
    [
      'DNS with server and record',
      'checkType: DNS\nquery: a.test\nrecord: aaaa\nserver: 192.0.2.1',
      'DNS',
      request('{ query: a.test, recordType: AAAA, nameServer: 192.0.2.1, port: 53 }'),
    ],
    [
      'DNS with a server and its port',
      'checkType: DNS\nhost: a.test\nrecord: A\nnameServer: "192.0.2.1:5353"',
      'DNS',
      request('{ query: a.test, nameServer: 192.0.2.1, port: 5353 }'),
    ],
    [
      'PING with count',
      'checkType: PING\nhost: a.test\ncount: 3',
      'ICMP',
      request('{ hostname: a.test, pingCount: 3 }'),
    ],
    ['MULTISTEP', 'checkType: MULTISTEP\nscript: "await 1"', 'MULTI_STEP', { script: 'await 1' }],
    [
      'SSL with hostname',
      'checkType: SSL\nhostname: a.test',
      'SSL',
      request('sslConfig: { hostname: a.test, port: 443 }'),
    ],
    [
      'gRPC with host',
      'checkType: grpc\nhost: a.test\nport: 50051\ntimeout: 5s\ntls: true\nmode: health',
      'GRPC',
      request('{ url: a.test, port: 50051, timeout: 5, grpcConfig: { tls: true, mode: HEALTH } }'),
    ],
    ['a WebSocket by its URL', 'url: wss://a.test/live', 'WEBSOCKET', request('url: wss://a.test/live')],
    ['timeout of a URL', 'checkType: URL\nurl: http://a.test\ntimeout: 5s', 'URL', { maxResponseTime: 5000 }],
    [
      'limits as durations',
      'checkType: URL\nurl: http://a.test\ndegradedResponseTime: 1.5s',
      'URL',
      { degradedResponseTime: 1500 },
    ],
    [
      'environment variables as a mapping',
      'checkType: URL\nurl: "http://{{HOST}}/"\nenv: { HOST: a.test }',
      'URL',
      { variables: { HOST: 'a.test' } },
    ],
  ])('%s', (_title, content, checkType, spec) => {
    expect(readFrom(content)).toMatchObject([{ checkType, ...spec }]);
  });

  it.each([
    ['a list', '- { url: "http://a.test" }\n- { checkType: TCP, host: b.test, port: 1 }'],
    ['checks', 'checks:\n  - { url: "http://a.test" }\n  - { checkType: TCP, host: b.test, port: 1 }'],
  ])('has more than one check in %s', (_title, content) => {
    expect(readFrom(content)).toMatchObject([{ checkType: 'URL' }, { checkType: 'TCP' }]);
  });

  it.each([
    ['frequency: 30s', { frequency: 0, frequencyOffset: 30 }],
    ['interval: 1m', { frequency: 1 }],
    ['every: 2 hours', { frequency: 120 }],
    ['frequencyWhileFailing: 30s', { frequencyWhileFailing: 0 }],
    ['frequencyWhileFailing: 1m', { frequencyWhileFailing: 1 }],
    ['cron: 0 3 * * *', { schedule: { cron: '0 3 * * *' } }],
    [
      'onCalendar: Mon..Fri 03:00\ntimeZone: UTC',
      { schedule: { onCalendar: 'Mon..Fri 03:00', timeZone: 'UTC' } },
    ],
  ])('has an interval as %s', (line, fields) => {
    const written = parse(`checkType: URL\nurl: http://a.test\n${line}`);
    expect(expandCheck(written)).toMatchObject({ problems: [], fields });
  });

  it('has the times of a heartbeat as durations', () => {
    expect(expandCheck({ checkType: 'CRON', every: '1h', grace: '90s' }).fields).toEqual({
      checkType: 'HEARTBEAT',
      heartbeat: { period: 1, periodUnit: 'hours', grace: 90, graceUnit: 'seconds' },
    });
    const scheduled = {
      checkType: 'CRON',
      cron: '0 3 * * *',
      timeZone: 'Europe/Berlin',
      grace: '1h',
      timeout: '2h',
    };
    expect(expandCheck(scheduled).fields).toEqual({
      checkType: 'HEARTBEAT',
      heartbeat: {
        schedule: { cron: '0 3 * * *', timeZone: 'Europe/Berlin' },
        ...{ grace: 1, graceUnit: 'hours' },
      },
      maxResponseTime: 7_200_000,
    });
  });

  it.each([
    ['an unknown type', 'checkType: FTP\nurl: x', 'checkType: must be one of [API, URL'],
    ['a misspelt type', 'checkType: BROWSR', 'did you mean "BROWSER"?'],
    ['a missing host', 'checkType: TCP', 'request.hostname: is required, such as "hostname: example.com"'],
    ['a missing port', 'checkType: TCP\nhost: a.test', 'request.port: is required, such as "port: 443"'],
    ['a missing URL', 'checkType: API', 'request.url: is required, such as "url: https://example.com"'],
    [
      'an interval that Picket lacks',
      'url: http://a.test\nfrequency: 45s',
      'frequency: must be one of [10s, 20s, 30s, 1m',
    ],
    [
      'a line that says nothing',
      'url: http://a.test\nassertions: [works]',
      '"works" cannot be read; write { source: STATUS_CODE',
    ],
    [
      'two values of one field',
      'checkType: TCP\nhost: a\nrequest: { hostname: b, port: 1 }',
      'request.hostname: is a second value for request.hostname',
    ],
    [
      'a heartbeat',
      'checkType: HEARTBEAT\nevery: 1h\ngrace: 5m',
      'waits for pings, so there is nothing to run',
    ],
    ['an empty list', '[]', 'the list has no check'],
    ['a wrong check in a list', '- { url: "http://a.test" }\n- { checkType: TCP }', 'check 2:'],
  ])('names the line to write for %s', (_title, content, problem) => {
    expect(readFrom(content)).toContain(problem);
  });

  it('is left as it is in the form of the API', () => {
    const whole = {
      checkType: 'API',
      name: 'cart',
      frequency: 5,
      request: {
        method: 'POST',
        url: 'http://a.test/',
        bodyType: 'FORM',
        body: 'a=1',
        headers: [{ key: 'host', value: 'b' }],
      },
      alertSettings: { reminders: { interval: 5 } },
      environmentVariables: [{ key: 'A', value: 'b', locked: true }],
    };
    expect(expandCheck(whole)).toEqual({ fields: whole, problems: [] });
  });
});

describe('docs/reference/check-files.md', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/reference/check-files.md'), 'utf8');
  const [whole = '', short = '', several = ''] = [...page.matchAll(/```yaml\n(.*?)```/gs)].map(
    ([, text]) => text,
  );

  it('has one check in both forms', () => {
    expect(expandCheck(parse(short))).toEqual({ fields: expandCheck(parse(whole)).fields, problems: [] });
  });

  it('has a file with three checks', () => {
    expect(readFrom(several)).toMatchObject([
      { checkType: 'URL' },
      { checkType: 'TCP' },
      { checkType: 'ICMP' },
    ]);
  });
});
