import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type ModelAccess,
  type ModelProtocol,
  modelProtocols,
  protocolOf,
} from '../../../src/checks/model/access.ts';
import { ModelClient, type ModelOutcome } from '../../../src/checks/model/client.ts';
import type { ModelQuestion } from '../../../src/checks/model/message.ts';
import { DaySpending, RunSpending } from '../../../src/checks/model/spending.ts';
import { createEgressPolicy, defaultEgressSettings } from '../../../src/probes/egress/policy.ts';
import { systemResolver } from '../../../src/probes/resolver.ts';
import { type ScriptedModel, startScriptedModel } from '../../helpers/agentic/scripted-model.ts';
import { startProxyTarget } from '../../helpers/targets/proxy-target.ts';

const question: ModelQuestion = {
  system: 'You are terse.',
  messages: [
    { role: 'user', text: 'Open the page.' },
    { role: 'assistant', text: '', calls: [{ id: 'a', name: 'open', input: { url: 'http://x.test' } }] },
    { role: 'tool', results: [{ callId: 'a', name: 'open', text: 'it is open' }] },
  ],
  tools: [{ name: 'open', description: 'Opens', input: { type: 'object', properties: {} } }],
  maxAnswerTokens: 100,
};
const call = { name: 'open', input: { url: 'http://x.test/next' } };
const never = new AbortController().signal;

/** A response of 90 letters with the given token usage, if any. */
function withUsage(protocol: ModelProtocol, said: unknown): string {
  const content = 'a'.repeat(90);
  return JSON.stringify(
    {
      openai: {
        choices: [{ message: { content } }],
        usage: said === undefined ? null : { prompt_tokens: said, completion_tokens: said },
      },
      anthropic: {
        content: [{ type: 'text', text: content }],
        usage: said === undefined ? null : { input_tokens: said, output_tokens: said },
      },
      ollama: { message: { content }, prompt_eval_count: said, eval_count: said },
    }[protocol],
  ).replaceAll('"1e999"', '1e999');
}

describe.each(modelProtocols)('a model that is asked by the protocol of %s', (protocol) => {
  let model: ScriptedModel;
  let client: ModelClient | undefined;
  let spending: RunSpending;
  beforeEach(async () => {
    model = await startScriptedModel(protocol);
  });
  afterEach(async () => {
    await client?.close();
    await model.close();
  });

  const open = (
    access: ModelAccess = model.access(),
    egress = createEgressPolicy(),
    onOutcome?: (outcome: ModelOutcome) => void,
  ) => {
    spending = new RunSpending(access, new DaySpending(() => 0));
    client = new ModelClient(access, { spending, egress, resolver: systemResolver, onOutcome });
    return client;
  };

  it('receives the whole conversation, and its calls and tokens are parsed', async () => {
    model.answerWith([[call, { name: 'open', input: {} }]]);
    const answer = await open().ask(question, never);
    expect(answer.calls.map(({ name, input }) => ({ name, input }))).toEqual([
      call,
      { name: 'open', input: {} },
    ]);
    expect(new Set(answer.calls.map(({ id }) => id)).size).toBe(2);
    expect(answer).toMatchObject({ inputTokens: 100, outputTokens: 10 });
    const [asked] = model.questions;
    expect(asked).toMatchObject({ system: 'You are terse.', last: 'it is open', tools: ['open'] });
    expect(asked?.texts).toEqual(expect.arrayContaining(['Open the page.', 'it is open']));
    expect(spending.spent).toMatchObject({
      calls: 1,
      inputTokens: 100,
      outputTokens: 10,
      isEstimated: false,
    });
    expect(spending.cost).toBeCloseTo(0.00012);
  });

  it('is queried again if it is busy, out of order, or breaks off, and then counts as unavailable', async () => {
    model.answerWith([{ status: 429, retryAfter: '0' }, { status: 503, retryAfter: '0' }, [call]]);
    expect((await open().ask(question, never)).calls).toHaveLength(1);
    model.answerWith([{ cutAfter: 20 }, [call]]);
    expect((await open().ask(question, never)).calls).toHaveLength(1);
    model.answerWith([{ status: 500, retryAfter: '0' }]);
    await expect(open().ask(question, never)).rejects.toMatchObject({
      code: 'MODEL_UNAVAILABLE',
      message: expect.stringContaining('status 500'),
    });
    expect(spending.spent.calls).toBe(3);
  });

  it('is not queried again if it refuses, or requests a longer pause than a run has', async () => {
    for (const turn of [{ status: 401 }, { status: 429, retryAfter: '3600' }]) {
      model.answerWith([turn]);
      await expect(open().ask(question, never)).rejects.toMatchObject({ code: 'MODEL_UNAVAILABLE' });
      expect(spending.spent.calls).toBe(1);
    }
  });

  it('may respond with anything invalid', async () => {
    for (const raw of ['', 'null', '[]', '{"choices":[]}', '<html>', '{"message":7}', '{"content":{}}']) {
      model.answerWith([{ raw }]);
      await expect(open().ask(question, never)).rejects.toMatchObject({
        code: 'MODEL_UNAVAILABLE',
        message: expect.stringContaining('response does not match this protocol'),
      });
    }
    model.answerWith([{ raw: ' '.repeat(5 * 1024 * 1024) }]);
    await expect(open().ask(question, never)).rejects.toMatchObject({
      message: expect.stringContaining('larger'),
    });
  }, 120_000);

  it('is awaited no longer than a run may take, and not once the run is stopped', async () => {
    model.answerWith(['silent']);
    const short = model.access({ perRun: { tokens: 1000, seconds: 0.2 } });
    await expect(open(short).ask(question, never)).rejects.toMatchObject({
      code: 'MODEL_UNAVAILABLE',
      message: expect.stringContaining('no response within'),
    });
    const stop = new AbortController();
    const asking = open().ask(question, stop.signal);
    await expect.poll(() => model.questions.length).toBe(2);
    stop.abort(new DOMException('The run was stopped', 'AbortError'));
    await expect(asking).rejects.toMatchObject({ name: 'AbortError' });
  });

  it('is queried only while tokens, time and money are left, for the run and for the day', async () => {
    model.answerWith([[call]]);
    const limits = [
      { perRun: { tokens: 100, seconds: 60 } },
      { perDay: { tokens: 100, seconds: 60 } },
      { perRun: { tokens: 1000, seconds: 60, cost: 0.0001 } },
      { perDay: { tokens: 1000, seconds: 60, cost: 0.0001 } },
    ];
    for (const limit of limits) {
      const limited = open(model.access(limit));
      await limited.ask(question, never);
      await expect(limited.ask(question, never)).rejects.toMatchObject({ code: 'MODEL_LIMIT_EXCEEDED' });
      await limited.close();
    }
    expect(model.questions).toHaveLength(limits.length);
  });

  it('is counted by sent and received bytes if it does not report its tokens', async () => {
    const noCounts = [undefined, 0, -5, 1.5, 'NaN', '1e999', 1e300, 9e15, null, [], {}, true, '12'];
    for (const usage of noCounts) {
      model.answerWith([{ raw: withUsage(protocol, usage) }]);
      const limited = open(model.access({ perRun: { tokens: 100, seconds: 60 } }));
      expect((await limited.ask(question, never)).text).toBe('a'.repeat(90));
      const { inputTokens, outputTokens, isEstimated } = spending.spent;
      expect(inputTokens).toBe(Math.ceil(Buffer.byteLength(model.questions.at(-1)?.body ?? '') / 3));
      expect(outputTokens).toBeGreaterThanOrEqual(30);
      expect(outputTokens).toBeLessThan(100);
      expect(isEstimated).toBe(true);
      await expect(limited.ask(question, never)).rejects.toMatchObject({ code: 'MODEL_LIMIT_EXCEEDED' });
      await limited.close();
    }
    model.answerWith([{ raw: '{"nothing":"of use"}' }]);
    await expect(open().ask(question, never)).rejects.toMatchObject({ code: 'MODEL_UNAVAILABLE' });
    expect(spending.spent.inputTokens).toBeGreaterThan(0);
  });

  it('is also counted if its response breaks off, does not end, or arrives after the run', async () => {
    const outcomes: ModelOutcome[] = [];
    const ask = async (access: ModelAccess, signal: AbortSignal) => {
      const asking = open(access, createEgressPolicy(), (outcome) => outcomes.push(outcome));
      await expect(asking.ask(question, signal)).rejects.toThrow();
      await asking.close();
      const [outcome] = outcomes.splice(0);
      const sentTokens = Math.ceil(Buffer.byteLength(model.questions.at(-1)?.body ?? '') / 3);
      const { inputTokens, outputTokens, isEstimated } = spending.spent;
      expect(isEstimated).toBe(true);
      // Metrics and budgets use the same numbers.
      expect(outcome).toMatchObject({ inputTokens, outputTokens });
      return { kind: outcome?.kind, questions: inputTokens / sentTokens, outputTokens };
    };
    const limit = { tokens: 1_000_000, seconds: 1 };
    model.answerWith([{ cutAfter: 30 }]);
    expect(await ask(model.access(), never)).toEqual({ kind: 'failed', questions: 3, outputTokens: 30 });
    model.answerWith(['cut']);
    expect(await ask(model.access(), never)).toEqual({ kind: 'failed', questions: 3, outputTokens: 0 });
    model.answerWith(['endless']);
    const endless = await ask(model.access({ perRun: limit }), never);
    expect(endless).toMatchObject({ kind: 'failed', questions: 1 });
    expect(endless.outputTokens).toBeGreaterThan(0);
    const stop = new AbortController();
    model.answerWith(() => {
      setImmediate(() => stop.abort(new DOMException('The run was stopped', 'AbortError')));
      return 'silent';
    });
    expect(await ask(model.access(), stop.signal)).toMatchObject({ kind: 'stopped', questions: 1 });
  });

  it('is reached through the egress policy and the proxy', async () => {
    model.answerWith([[call]]);
    const { port } = new URL(model.url);
    const policy = createEgressPolicy({ ...defaultEgressSettings, deny: '127.0.0.0/8, ::1' });
    for (const host of ['127.0.0.1', 'localhost']) {
      const access = model.access();
      const url = access.url.replace('127.0.0.1', host);
      await expect(open({ ...access, url }, policy).ask(question, never)).rejects.toMatchObject({
        message: expect.stringMatching(/refused by the rule/),
      });
    }
    expect(model.questions).toEqual([]);
    const proxy = await startProxyTarget();
    try {
      await open(model.access({ proxyUrl: proxy.proxyUrl })).ask(question, never);
      expect(proxy.requests).toEqual([expect.stringContaining(`127.0.0.1:${port}`)]);
    } finally {
      await proxy.close();
    }
  });
});

it('derives the protocol from the URL', () => {
  const protocol = (url: string) => protocolOf(new URL(url));
  expect(protocol('https://api.anthropic.com')).toBe('anthropic');
  expect(protocol('http://ollama.lan:11434')).toBe('ollama');
  expect(protocol('http://ollama.lan:11434/v1')).toBe('openai');
  expect(protocol('https://api.openai.com/v1')).toBe('openai');
  expect(protocol('https://anthropic.com.example.test')).toBe('openai');
});
