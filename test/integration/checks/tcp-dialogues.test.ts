import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setDefaultCACertificates } from 'node:tls';
import { afterAll, describe, expect, it } from 'vitest';
import { TcpDetail } from '../../../src/checks/tcp/detail.ts';
import { tcpProblems } from '../../../src/checks/tcp/problems.ts';
import { runTcp, warmUp } from '../../../src/checks/tcp/run.ts';
import { TcpSpec } from '../../../src/checks/tcp/spec.ts';
import { runContext } from '../../helpers/run-context.ts';
import { createAuthority } from '../../helpers/targets/certificates.ts';
import { startLineServer } from '../../helpers/targets/line-server.ts';
import type { Target } from '../../helpers/targets/listening.ts';

const authority = await createAuthority();
const identity = await authority.issue();
setDefaultCACertificates([authority.cert]);
await warmUp();
const smtp = await startLineServer({
  identity,
  greeting: '220-mail.example\r\n220 ESMTP ready 4711\r\n',
  answers: [
    [/^EHLO/, () => '250-mail.example\r\n250-STARTTLS\r\n250 SIZE\r\n'],
    [/^STARTTLS$/, () => '220 go ahead\r\n'],
    [/^NOOP (.*)$/, ([, word]) => `250 ${word}\r\n`],
    [/^QUIT$/, () => '221 bye\r\n'],
  ],
});
const redis = await startLineServer({
  answers: [
    [/^PING$/, () => '+PONG\r\n'],
    [/^INFO/, () => '$20\r\nrole:replica\r\n# more\r\n'],
  ],
});
const prompt = await startLineServer({ greeting: 'login: ' });
const brief = await startLineServer({ greeting: '421 too busy\r\n', isBrief: true });
const endless = await startLineServer({ greeting: 'x'.repeat(1000), isEndless: true });
const verbose = await startLineServer({ greeting: '\n', isEndless: true });
const servers = [smtp, redis, prompt, brief, endless, verbose];
afterAll(() => Promise.all(servers.map((one) => one.close())));

type Step = Record<string, unknown>;
const send = (text: string): Step => ({ type: 'SEND', text });
const line = (text: string, rest: Step = {}): Step => ({ type: 'EXPECT', text, ...rest });
const match = (regex: string, rest: Step = {}): Step => ({ type: 'EXPECT', regex, ...rest });

async function run({ port }: Pick<Target, 'port'>, steps: readonly Step[], request: object = {}) {
  const spec = TcpSpec.parse({ request: { hostname: 'localhost', port, steps, ...request } });
  expect(tcpProblems(spec)).toEqual([]);
  const outcome = await runTcp(spec, runContext({ variables: { WORD: 'hello' } }));
  expect(TcpDetail.parse(outcome.detail)).toEqual(outcome.detail);
  return outcome;
}

describe('a TCP monitor with steps', () => {
  it('talks to a mail server, continues in TLS, and uses captured values', async () => {
    const { failure, detail, certificateExpiresAt, responseTimeMs } = await run(
      smtp,
      [
        match('^220 .*ready (?<number>\\d+)$'),
        send('EHLO picket.invalid\r\n'),
        match('^250 '),
        send('STARTTLS\r\n'),
        line('220'),
        { type: 'START_TLS' },
        send('NOOP {{number}} {{WORD}}\r\n'),
        line('250 {{number}} hello'),
        send('QUIT\r\n'),
        match('^221'),
      ],
      { assertions: [{ source: 'RESPONSE_DATA', comparison: 'CONTAINS', target: 'STARTTLS' }] },
    );
    expect(failure).toBeUndefined();
    expect(detail.steps?.map(({ state }) => state)).toEqual(Array.from({ length: 10 }, () => 'DONE'));
    expect(detail.response.lines?.filter(({ direction }) => direction === 'SENT')[2]?.text).toBe(
      'NOOP 4711 hello\r\n',
    );
    expect(certificateExpiresAt).toBeGreaterThan(Date.now());
    const { dns = 0, connection = 0, tls = 0, data = 0, total = 0 } = detail.response.timingPhases ?? {};
    expect(tls).toBeGreaterThan(0);
    expect(dns + connection + tls + data).toBeCloseTo(total, 2);
    expect(total).toBe(responseTimeMs);
  });

  it('queries Redis, and accepts a prompt without a line end', async () => {
    expect((await run(redis, [send('PING\r\n'), line('+PONG')])).failure).toBeUndefined();
    expect((await run(prompt, [match('^login: $')])).failure).toBeUndefined();
  });

  it.each([
    [
      'another role',
      redis,
      [send('INFO\r\n'), line('role:master', { timeoutMs: 500 })],
      'DIALOGUE_FAILED',
      'Step 2 (EXPECT): expected role:master, received # more; timed out after 500 ms',
    ],
    [
      'silence',
      redis,
      [match('^220', { timeoutMs: 100 })],
      'RESPONSE_TIMEOUT',
      'Step 1 (EXPECT): timed out after 100 ms while waiting for a line',
    ],
    [
      'a server that is too busy',
      brief,
      [match('^220 ')],
      'DIALOGUE_FAILED',
      'Step 1 (EXPECT): expected /^220 /, received 421 too busy; the server closed the connection',
    ],
    ['a line without end', endless, [match('^220 ')], 'DIALOGUE_FAILED', 'more than 1048576 bytes'],
    ['lines without end', verbose, [line('220 ')], 'DIALOGUE_FAILED', 'more than 1000 lines'],
    [
      'TLS where none is spoken',
      redis,
      [{ type: 'START_TLS', timeoutMs: 200 }],
      'CONNECTION_TIMEOUT',
      'Step 1 (START_TLS): timed out after 200 ms while negotiating TLS',
    ],
    [
      'more plain text before TLS',
      smtp,
      [line('220-'), { type: 'START_TLS' }],
      'RESPONSE_MALFORMED',
      'the server sent more data before TLS began',
    ],
  ] as const)('names the step and what came instead: %s', async (_what, server, steps, code, words) => {
    const { failure, errorMessages } = await run(server, steps);
    expect([failure?.code, failure?.owner]).toEqual([code, 'target']);
    expect(errorMessages[0]).toContain(words);
  });

  it('judges the certificate of STARTTLS', async () => {
    const upgrade = [match('^220 '), send('STARTTLS\r\n'), line('220'), { type: 'START_TLS' }];
    const wrong = await run(smtp, upgrade, { serverName: 'other.example' });
    expect(wrong.failure?.code).toBe('TLS_CERTIFICATE_INVALID');
    const taken = await run(smtp, upgrade, { serverName: 'other.example', skipSSL: true });
    expect(taken.failure).toBeUndefined();
  });

  it('runs the examples of the reference', async () => {
    const page = readFileSync(join(import.meta.dirname, '../../../docs/reference/checks.md'), 'utf8');
    const start = page.indexOf('## TCP monitor');
    const examples = [...page.slice(start, page.indexOf('## UDP monitor')).matchAll(/```json\n(.*?)```/gs)];
    const outcomes = examples.map(async ([, example = ''], index) => {
      const { request } = JSON.parse(example);
      const server = [smtp, redis][index] ?? smtp;
      return await run(server, request.steps, { assertions: request.assertions ?? [] });
    });
    expect((await Promise.all(outcomes)).map(({ failure }) => failure)).toEqual([undefined, undefined]);
  });
});
