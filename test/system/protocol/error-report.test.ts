import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { runInNewContext } from 'node:vm';
import { brotliDecompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ErrorReporter } from '../../../src/agent/error-report/error-reporter.ts';
import { Scrubber } from '../../../src/agent/scrub/scrubber.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { packageVersion } from '../../../src/lib/version.ts';
import { Stage } from '../../helpers/agent/stage.ts';
import { freePort } from '../../helpers/free-port.ts';
import { program } from '../../helpers/program.ts';
import { openHarness, quietLogger, type ServiceHarness } from '../../helpers/service/service.ts';

const secret = 'hunter2-hunter2';
const key = 'pl_0123456789abcdef';
/** Texts that count as a leak if an envelope contains them. */
const privateTexts = [
  secret,
  key,
  'shop.internal',
  'Bearer',
  'x-customer',
  'customer-body',
  '10.9.8.7',
  process.cwd(),
  process.env.HOME ?? '/root',
  'MY_VARIABLE',
];

const crashes: readonly (readonly [string, () => unknown])[] = [
  ['a URL in a message', () => fail(`GET https://shop.internal/pay?x=1 failed`)],
  ['the key in a message', () => fail(`key ${key} refused`)],
  ['a secret in a message', () => fail(`password ${secret} is wrong`)],
  ['a secret in another form', () => fail(`header ${Buffer.from(`user:${secret}`).toString('base64')}`)],
  ['a variable', () => fail(`MY_VARIABLE=${secret}`)],
  ['a header', () => fail('sent Authorization: Bearer abc and x-customer: 1')],
  ['a body', () => JSON.parse('customer-body is no JSON')],
  ['a host name', () => fail('getaddrinfo ENOTFOUND shop.internal')],
  ['an address', () => fail('connect ECONNREFUSED 10.9.8.7:443')],
  ['a path', () => readFileSync(`${process.cwd()}/customer-body`)],
  ['a type error', () => (undefined as unknown as { status: number }).status],
  ['a range error', () => new Array(-1)],
  ['native code', () => brotliDecompressSync(Buffer.from(secret))],
  ['a native check of arguments', () => Buffer.alloc(secret as unknown as number)],
  [
    'a script',
    () => runInNewContext(`(function shopInternal() { throw new Error('https://shop.internal/') })()`),
  ],
  [
    'a child process',
    () => execFileSync(process.execPath, ['-e', `throw new Error('${secret}')`], { stdio: 'pipe' }),
  ],
  ['a cause', () => fail('outer', { cause: new Error(`inner ${secret} at https://shop.internal`) })],
  [
    'several errors',
    () => {
      throw new AggregateError([new Error(secret)], `all failed for ${secret}`);
    },
  ],
  [
    'a name of its own',
    () => {
      throw Object.assign(new Error('x'), { name: `Error for ${secret}` });
    },
  ],
  [
    'a value that is no error',
    () => {
      throw `${secret} thrown as text`;
    },
  ],
  [
    'fields of its own',
    () => {
      throw Object.assign(new Error('odd'), {
        config: { url: 'https://shop.internal', headers: { Authorization: 'Bearer x' } },
      });
    },
  ],
];

function fail(message: string, options?: ErrorOptions): never {
  throw new Error(message, options);
}

function thrownBy(crash: () => unknown): unknown {
  try {
    crash();
  } catch (thrown) {
    return thrown;
  }
  throw new Error('it did not crash');
}

function reporter(send: (envelope: string) => Promise<void>): ErrorReporter {
  return new ErrorReporter({
    clock: systemClock,
    log: quietLogger,
    scrubber: new Scrubber([secret, key]),
    send,
  });
}

describe('an error report', () => {
  let harness: ServiceHarness;
  let location: { id: string; rawKey: string };
  beforeAll(async () => {
    harness = await openHarness();
    const { body } = await harness.call('POST', '/v1/private-locations', { name: 'Lab', slugName: 'lab' });
    location = { id: body.id, rawKey: body.keys[0].rawKey };
  });
  afterAll(async () => await harness.close());

  const deliver = async (envelope: string) => {
    const { statusCode } = await harness.app.inject({
      method: 'POST',
      url: '/api/agent/envelope/',
      headers: {
        authorization: `Bearer ${location.rawKey}`,
        'content-type': 'application/x-sentry-envelope',
      },
      payload: envelope,
    });
    expect(statusCode).toBe(200);
  };

  it.each(crashes)('of %s contains what is documented and nothing else', async (_kind, crash) => {
    const envelopes: string[] = [];
    const reports = reporter(async (envelope) => {
      envelopes.push(envelope);
      await deliver(envelope);
    });
    reports.report(thrownBy(crash));
    await reports.flush(5000);
    expect(envelopes).toHaveLength(1);
    const [envelope = ''] = envelopes;
    for (const text of privateTexts) expect(envelope).not.toContain(text);
    const event = JSON.parse(envelope.split('\n')[2] ?? '');
    expect(Object.keys(event).sort()).toEqual([
      'contexts',
      'event_id',
      'exception',
      'level',
      'platform',
      'release',
      'timestamp',
    ]);
    expect(event.contexts).toEqual({
      os: { name: `${process.platform}-${process.arch}` },
      runtime: { name: 'node', version: process.versions.node },
    });
    for (const { stacktrace } of event.exception.values) {
      for (const { filename } of stacktrace.frames)
        expect(filename).toMatch(/^(?:src|test|scripts|node_modules)\/|^node:|^<outside>$/);
    }
  });

  it('is listed at its location, with a count of similar ones', async () => {
    const { body } = await harness.call('GET', `/v1/private-locations/${location.id}/agent-errors?limit=100`);
    expect(body.length).toBeGreaterThan(15);
    expect(body[0]).toMatchObject({
      agentVersion: packageVersion(),
      count: 1,
      runtime: `node ${process.versions.node}`,
    });
    const again = reporter(deliver);
    again.report(new Error('one kind 17'));
    const later = reporter(deliver);
    await again.flush(5000);
    later.report(new Error('one kind 18'));
    await later.flush(5000);
    const [newest] = (await harness.call('GET', `/v1/private-locations/${location.id}/agent-errors`)).body;
    expect(newest).toMatchObject({ message: 'one kind 17', count: 2 });
    const stranger = await harness.addAccount();
    const { status } = await harness.call(
      'GET',
      `/v1/private-locations/${location.id}/agent-errors`,
      undefined,
      {
        key: stranger.key,
      },
    );
    expect(status).toBe(404);
  });

  it('is refused when it contains anything that is not an event', async () => {
    for (const payload of [
      '',
      'x',
      '{}\n{"type":"event"}\n{"message":"x"}',
      '{}\n{"type":"transaction"}\n{}',
    ]) {
      const { statusCode } = await harness.app.inject({
        method: 'POST',
        url: '/api/agent/envelope/',
        headers: {
          authorization: `Bearer ${location.rawKey}`,
          'content-type': 'application/x-sentry-envelope',
        },
        payload,
      });
      expect(statusCode).toBe(400);
    }
  });

  it('is sent once for the same error, and a flood is cut off', async () => {
    let sent = 0;
    const reports = reporter(async () => {
      sent += 1;
    });
    for (let count = 0; count < 50; count += 1) reports.report(new Error('the same'));
    for (let count = 0; count < 50; count += 1) reports.report(new Error(`another one, ${count}`));
    await reports.flush(5000);
    expect(sent).toBe(10);
    expect(reports.droppedCount).toBe(90);
  });

  it('has no other effect if the service is unavailable', async () => {
    const reports = reporter(() => Promise.reject(new Error('gone')));
    reports.report(new Error('unlucky'));
    await reports.flush(5000);
    expect(reports.droppedCount).toBe(1);
  });
});

describe('an agent process', () => {
  const preload = (port: number) => {
    const code = `import { createServer } from 'node:net'; import { isMainThread } from 'node:worker_threads'; if (isMainThread) createServer(() => { Promise.reject(new Error('broken by https://shop.internal/ ${secret}')); }).listen(${port}, '127.0.0.1');`;
    return `data:text/javascript,${encodeURIComponent(code)}`;
  };

  it.each(['on', 'off'])('that crashes, with EXTERNAL_OBSERVABILITY=%s', async (setting) => {
    await using stage = await Stage.open();
    const port = await freePort();
    const agent = stage.startAgent({ EXTERNAL_OBSERVABILITY: setting, SERVICE_SECRET_A: secret }, [
      '--import',
      preload(port),
    ]);
    await agent.logged('connected to the service');
    connect(port, '127.0.0.1').on('error', () => undefined);
    expect(await agent.exited).toEqual({ code: 1, signal: null });
    expect(agent.stdout).not.toContain(secret);
    const reports = stage.service.otherCalls.filter(({ path }) => path === '/api/agent/envelope/');
    expect(reports).toHaveLength(setting === 'on' ? 1 : 0);
    for (const { bodyText } of reports) {
      expect(bodyText).toContain('"level":"fatal"');
      for (const text of privateTexts) expect(bodyText).not.toContain(text);
    }
  });

  it('refuses any other value', () => {
    const run = () =>
      execFileSync(process.execPath, [program, 'agent'], {
        env: {
          PATH: process.env.PATH,
          API_KEY: key,
          SERVICE_URL: 'http://127.0.0.1:1',
          EXTERNAL_OBSERVABILITY: 'maybe',
        },
        stdio: 'pipe',
      });
    expect(run).toThrow(/EXTERNAL_OBSERVABILITY: must be on or off/);
  });
});
