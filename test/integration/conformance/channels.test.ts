import { randomUUID } from 'node:crypto';
import naughtyStrings from 'big-list-of-naughty-strings' with { type: 'json' };
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OutboundRequest } from '../../../src/channels/contract/channel.ts';
import { channelKinds } from '../../../src/channels/index.ts';
import { keepMasked } from '../../../src/checks/contract/masking.ts';
import { type AnswerRules, OutboundHttp } from '../../../src/platform/outbound/outbound-http.ts';
import { createEgressPolicy } from '../../../src/probes/egress/policy.ts';
import { type AlertMessage, channelMessage } from '../../../src/service/alerts/delivery/message.ts';
import {
  type HttpReceiver,
  type ReceivedRequest,
  startHttpReceiver,
} from '../../helpers/service/alert-receivers.ts';
import { documentedReceivers, receiverSettings } from './channel-receivers/index.ts';

const began = Date.UTC(2026, 2, 1, 10);
const plain: AlertMessage = {
  id: 'c0ffee00-0000-4000-8000-000000000001',
  alertId: 'a1',
  type: 'ALERT_FAILURE',
  notice: 'failure',
  checkId: '7e5f0000-0000-4000-8000-000000000002',
  resultId: 'r1',
  accountId: 'acc',
  facts: {
    checkName: 'Shop',
    checkType: 'URL',
    checkDescription: null,
    groupName: 'Web',
    tags: ['team:core'],
    runLocation: 'lab',
    locations: ['branch', 'lab'],
    responseTimeMs: 12,
    error: 'connect ECONNREFUSED 10.0.0.5:443\nand more',
    owner: 'target',
    statusCode: 503,
    statusText: 'Service Unavailable',
    startedAt: began + 60_000,
    reminder: 0,
    recoversFrom: null,
    certificate: null,
    target: 'https://shop.test/',
    since: began,
  },
  created: began + 61_000,
  resultLink: 'https://picket.test/v1/check-results/7e5f/r1',
  pageLink: 'https://picket.test/v1/alert-notifications/c0ffee/page',
};
const said = (fields: Partial<AlertMessage['facts']>, message: Partial<AlertMessage> = {}) =>
  channelMessage({ ...plain, ...message, facts: { ...plain.facts, ...fields } });

const kinds = channelKinds.flatMap((kind) => {
  const receiver = documentedReceivers[kind.type];
  const { sender } = kind;
  return receiver && sender.kind === 'http' ? [{ name: kind.type, kind, sender, receiver }] : [];
});
const address = 'http://receiver.test';

function requestsOf({ kind, sender, receiver }: (typeof kinds)[number], message = said({}), url = address) {
  const config = kind.config.parse(receiver.config(url));
  return sender.requests(config, message, receiverSettings(url));
}

function received({ method, url, headers, body }: OutboundRequest): ReceivedRequest {
  const { pathname, search } = new URL(url);
  const named = headers.map(([name, value]) => [name.toLowerCase(), value]);
  return { method, path: `${pathname}${search}`, headers: Object.fromEntries(named), body: body ?? '' };
}

it('every type of channel has a receiver with its documented format, except plain requests and mails', () => {
  const others = channelKinds.filter(({ type }) => !documentedReceivers[type]).map(({ type }) => type);
  expect(others).toEqual(['EMAIL', 'WEBHOOK']);
});

it.each(channelKinds)('the sample of $type is a valid config', ({ config, sample }) => {
  expect(config.safeParse(sample).error).toBeUndefined();
});

describe.each(channelKinds)('a change of the address of $type', ({ config, masked, sample }) => {
  const secrets = masked.map(({ path: [, key = ''], flags }) => ({ key, flags }));
  const whole: Record<string, unknown> = { ...config.parse(sample), ...filled(secrets, 'the-secret') };
  const shown = { ...whole, ...filled(secrets, '') };
  const addresses = Object.keys(whole).filter(
    (key) => /^https?:/.test(String(whole[key])) && !secrets.some((secret) => secret.key === key),
  );
  const keys = secrets.map(({ key, flags }) => (flags ? `config.${key}.0.value` : `config.${key}`));

  it('keeps no hidden value, unless it is entered again', () => {
    for (const address of addresses) {
      const moved = { ...shown, [address]: 'https://evil.example/x' };
      const change = () => keepMasked(masked, { config: moved }, { config: whole });
      if (keys.length === 0) expect(change).not.toThrow();
      else
        expect(change).toThrow(
          expect.objectContaining({ validation: expect.objectContaining({ source: 'payload', keys }) }),
        );
      const entered = { ...moved, ...filled(secrets, 'entered') };
      expect(keepMasked(masked, { config: entered }, { config: whole })).toEqual({ config: entered });
    }
    expect(keepMasked(masked, { config: shown }, { config: whole })).toEqual({ config: whole });
  });
});

function filled(secrets: readonly { key: string; flags: readonly string[] | undefined }[], value: string) {
  return Object.fromEntries(
    secrets.map(({ key, flags }) => [key, flags ? [{ key: 'x', value, locked: true }] : value]),
  );
}

it.each(kinds.filter(({ kind }) => kind.keepsIncidents))(
  '$name closes what it opened, and nothing else',
  (one) => {
    const incidentOf = (...[facts, message]: Parameters<typeof said>) => {
      const [request] = requestsOf(one, said(facts, message)).map(received);
      if (!request || !one.receiver.incident) throw new Error('it keeps no incidents');
      return one.receiver.incident(request);
    };
    const failed = incidentOf({});
    // Fields that may change until the recovery: names, tags, the error.
    const renamed = {
      checkName: 'Store',
      tags: [],
      error: null,
      recoversFrom: 'failure',
      locations: [],
    } as const;
    expect(incidentOf(renamed, { notice: 'recovery', created: began + 10 * 60_000 })).toBe(failed);
    expect(incidentOf({ error: null }, { notice: 'degraded' })).toBe(failed);
    const certificate = { domain: 'shop.test', daysRemaining: 3, expiresAt: began };
    const others = [
      incidentOf({}, { checkId: randomUUID() }),
      incidentOf({ certificate }, { notice: 'ssl' }),
      incidentOf({ subject: 'gap', runLocation: 'lab' }, { notice: 'gap' }),
      incidentOf({ subject: 'gap', runLocation: 'branch' }, { notice: 'gap' }),
    ];
    expect(new Set([failed, ...others]).size).toBe(5);
  },
);

describe.each(kinds)('a message by $name', (one) => {
  const { receiver } = one;
  const shapes: [string, Partial<AlertMessage['facts']>, Partial<AlertMessage>][] = [
    ['a failure', {}, {}],
    [
      'a failure without anything known',
      { error: null, since: null, startedAt: null, runLocation: null },
      {},
    ],
    ['a failure without links', {}, { pageLink: null, resultLink: null }],
    ['a slow check', { error: null }, { notice: 'degraded' }],
    ['a recovery', { error: null, recoversFrom: 'failure' }, { notice: 'recovery' }],
    [
      'a certificate',
      { error: null, certificate: { domain: 'shop.test', daysRemaining: 3, expiresAt: began } },
      { notice: 'ssl' },
    ],
    ['a location', { subject: 'location', checkName: 'Lab' }, {}],
  ];
  it.each(shapes)('about %s has the documented shape', (_what, facts, message) => {
    for (const request of requestsOf(one, said(facts, message))) receiver.check(received(request));
  });

  it('states the reason, the owner, the start, the location, and where to look', () => {
    const [request] = requestsOf(one).map(received);
    if (!request) throw new Error('nothing is sent');
    const text = receiver.shown(request);
    expect(text).toContain('Shop has failed');
    expect(text).toContain('connect ECONNREFUSED 10.0.0.5:443');
    expect(text).toContain('the target');
    expect(text).toMatch(/2026-03-01.10:00/);
    expect(text).toContain('branch, lab');
    expect(request.body.replaceAll('\\', '')).toMatch(
      /check-results\/7e5f\/r1|alert-notifications\/c0ffee|alert-notifications%2Fc0ffee/,
    );
  });

  it('shows hostile texts unchanged, and truncates long ones', () => {
    const hostile = [
      '*bold* _it_ ~no~ `code` [link](http://evil.test) <b>x</b> <!channel> <@U1> @everyone &lt; | > # 1. a',
      'red \u001b[31m\u0000\u0008\u202e\u2028\u009d\ud800 text',
      '</b></a><script>alert(1)</script>',
      '"},{"text":"injected"',
      `${'x'.repeat(9_990)}😀\u0000\u001b[31m\u202e\u009d\ud800`,
      '😀'.repeat(5_000),
      '&'.repeat(10_000),
      '\\'.repeat(10_000),
    ];
    for (const text of hostile) {
      const fields = {
        checkName: text,
        error: text,
        target: text,
        tags: [text],
        groupName: text,
        runLocation: text,
      };
      for (const request of requestsOf(one, said(fields)).map(received)) {
        receiver.check(request);
        const shown = receiver.shown(request);
        expect(shown).not.toMatch(/[^\P{Cc}\t\n]|[\u202a-\u202e]/u);
        expect(shown.isWellFormed()).toBe(true);
        if (text.length < 120 && !text.startsWith('red')) expect(shown).toContain(text);
      }
    }
  });

  it('accepts any text', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 300 }),
      fc.string({ unit: 'grapheme', maxLength: 2_000 }),
      fc.constantFrom(...(naughtyStrings as string[])),
    );
    fc.assert(
      fc.property(text, text, fc.constantFrom('failure', 'recovery', 'degraded'), (name, error, notice) => {
        const message = said({ checkName: name || 'x', error }, { notice });
        for (const request of requestsOf(one, message)) receiver.check(received(request));
      }),
      { numRuns: 60 },
    );
  });
});

describe('responses of receivers', () => {
  let server: HttpReceiver;
  let http: OutboundHttp;
  const policy = createEgressPolicy({ allow: '127.0.0.1', deny: '', ownPorts: [], isLoopbackClosed: true });
  beforeAll(async () => {
    server = await startHttpReceiver();
    http = new OutboundHttp(policy, { timeoutMs: 1_000 });
  });
  afterAll(async () => {
    await http.close();
    await server[Symbol.asyncDispose]();
  });

  describe.each(kinds)('by $name', (one) => {
    const { receiver, sender } = one;
    const tell = async (status: number, body: string, headers: Record<string, string> = {}) => {
      server.received.length = 0;
      server.answerNext(status);
      server.body = body;
      server.headers = headers;
      const [request] = requestsOf(one, said({}), server.url);
      if (!request) throw new Error('nothing is sent');
      const read: AnswerRules['read'] =
        sender.readAnswer && ((answer) => sender.readAnswer?.(answer, receiverSettings(server.url)) ?? {});
      return http.send(request, { areRefusalsPassing: false, read });
    };

    it('an accepted message has arrived, as the server received it', async () => {
      const { status, body } = receiver.accepted;
      expect(await tell(status, body)).toEqual({ isDelivered: true, result: `status ${status}` });
      for (const request of server.received) receiver.check(request);
      expect(server.received).toHaveLength(1);
    });

    it.each([400, 401, 403, 404, 410, 413])('%i gives up with the reason', async (status) => {
      const answer = await tell(status, 'no');
      expect(answer).toMatchObject({ isDelivered: false, isRetryable: false });
      expect(answer.result).toMatch(new RegExp(`^status ${status}: .{10}`));
    });

    it('429 waits as long as requested, in seconds or until a date', async () => {
      expect(await tell(429, '', { 'retry-after': '42' })).toMatchObject({
        isDelivered: false,
        isRetryable: true,
        retryAfterMs: 42_000,
      });
      const headers = {
        date: 'Sun, 01 Mar 2026 10:00:00 GMT',
        'retry-after': 'Sun, 01 Mar 2026 10:01:30 GMT',
      };
      expect(await tell(429, '', headers)).toMatchObject({ isRetryable: true, retryAfterMs: 90_000 });
    });

    it.each([408, 500, 502, 503, 504])('%i is retried', async (status) => {
      const answer = await tell(status, 'oops');
      expect(answer).toMatchObject({ isDelivered: false, isRetryable: true });
    });

    it.each(receiver.errors ?? [])(
      '$status with $body: $reason',
      async ({ status, body, reason, isRetryable }) => {
        const answer = await tell(status, body);
        expect(answer).toMatchObject({ isDelivered: false, isRetryable });
        expect(answer.result).toContain(reason);
      },
    );
  });

  it('a missing response is retried', async () => {
    const [one] = kinds;
    const [request] = one ? requestsOf(one, said({}), server.url) : [];
    if (!request) throw new Error('nothing is sent');
    server.answerNext(0);
    expect(await http.send(request)).toEqual({
      isDelivered: false,
      isRetryable: true,
      result: 'no answer within 1 s',
    });
  });
});
