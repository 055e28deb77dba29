import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgenticDetail } from '../../../src/checks/agentic/detail.ts';
import { type AgenticStage, startAgenticStage } from '../../helpers/agentic/agentic-stage.ts';
import { type ScriptedModel, startScriptedModel } from '../../helpers/agentic/scripted-model.ts';
import type { Reply, Route } from '../../helpers/targets/http-routes.ts';
import { type HttpTarget, startHttpTarget } from '../../helpers/targets/http-target.ts';

let layout: 'old' | 'new' | 'broken' = 'old';
const html = (reply: Reply, body: string, status = 200) => {
  reply.writeHead(status, { 'content-type': 'text/html' });
  reply.end(`<!doctype html><title>Shop</title>${body}`);
};
const routes: Readonly<Record<string, Route>> = {
  shop: (_request, reply) => {
    if (layout === 'broken') return html(reply, '<h1>Out of order</h1>', 500);
    const button = layout === 'old' ? 'Sign in' : 'Log in';
    html(
      reply,
      `<h1>Shop</h1><form action="/account"><label>Name <input name="user"></label>
       <label>Password <input name="password" type="password"></label><button>${button}</button></form>`,
    );
  },
  account: (request, reply) => {
    const { query: searchParams } = request;
    const isKnown = searchParams.get('password') === 'correct horse battery';
    html(reply, isKnown ? `<h1>Welcome, ${searchParams.get('user')}</h1>` : '<h1>Wrong password</h1>');
  },
};

describe('agentic checks', () => {
  let stage: AgenticStage;
  let target: HttpTarget;
  let model: ScriptedModel;
  beforeAll(async () => {
    stage = await startAgenticStage();
    target = await startHttpTarget({ routes });
    model = await startScriptedModel();
  });
  afterAll(async () => {
    await model.close();
    await target.close();
    await stage.close();
  });

  const variables = { USER: 'Ada Lovelace', PASSWORD: 'correct horse battery' };
  const order = () => ({
    spec: { prompt: `Open ${target.url}/shop, sign in as {{USER}} with {{PASSWORD}} and see "Welcome".` },
    variables,
    secretNames: ['PASSWORD'],
  });
  const found = () => [
    [{ name: 'open', input: { url: `${target.url}/shop` } }],
    [{ name: 'fill', input: { target: { label: 'Name' }, value: '{{USER}}' } }],
    [{ name: 'fill', input: { target: { label: 'Password' }, value: '{{PASSWORD}}' } }],
    [{ name: 'click', input: { target: { role: 'button', name: 'Sign in' } } }],
    [
      {
        name: 'assert',
        input: {
          condition: 'The visitor is greeted',
          subject: 'text',
          target: { role: 'heading' },
          comparison: 'EQUALS',
          expected: 'Welcome, {{USER}}',
        },
      },
    ],
    [{ name: 'finish', input: { isDone: true, summary: 'Signed in.' } }],
  ];

  it('are found once, replayed without the model, and healed when the page has changed', {
    timeout: 120_000,
  }, async (context) => {
    if (stage.missingBrowser && process.env.CI !== 'true') context.skip(stage.missingBrowser);
    layout = 'old';
    model.answerWith(found());
    const first = await stage.run({ ...order(), model: model.access() });
    expect(first.outcome.failure).toBeUndefined();
    expect(AgenticDetail.parse(first.outcome.detail)).toEqual(first.outcome.detail);
    expect(first.outcome.detail).toMatchObject({
      summary: 'Signed in.',
      assertions: [{ condition: 'The visitor is greeted', passed: true, actual: 'Welcome, {{USER}}' }],
      plan: { origin: 'found', version: null },
      usage: { model: 'scripted', calls: 6, inputTokens: 600, outputTokens: 60 },
      screenshots: ['screenshots/end.png'],
    });
    const content = first.outcome.detail.plan?.fresh;
    expect(content?.steps).toHaveLength(5);
    for (const { body } of model.questions) {
      expect(body).not.toContain('correct horse');
      expect(body).not.toContain('Lovelace');
    }

    const asked = model.questions.length;
    const second = await stage.run({ ...order(), model: model.access(), plan: { version: 1, content } });
    expect(second.outcome.failure).toBeUndefined();
    expect(second.outcome.detail).toMatchObject({
      plan: { origin: 'replayed', version: 1, fresh: null },
      usage: null,
    });
    expect(model.questions).toHaveLength(asked);

    layout = 'new';
    model.answerWith([
      [{ name: 'click', input: { target: { role: 'button', name: 'Log in' } } }],
      [{ name: 'resume', input: { step: 5, summary: 'The button has another name.' } }],
    ]);
    const third = await stage.run({ ...order(), model: model.access(), plan: { version: 1, content } });
    expect(third.outcome.failure).toBeUndefined();
    expect(third.outcome.detail).toMatchObject({ plan: { origin: 'healed', version: 1 } });
    const healed = third.outcome.detail.plan?.fresh;
    expect(healed?.steps[3]).toEqual({
      tool: 'click',
      input: { target: { role: 'button', name: 'Log in' } },
    });
    expect(healed?.steps[4]).toEqual(content?.steps[4]);

    layout = 'broken';
    const before = model.questions.length;
    const fourth = await stage.run({
      ...order(),
      model: model.access(),
      plan: { version: 2, content: healed },
    });
    expect(fourth.outcome.failure).toMatchObject({ code: 'STEP_FAILED', owner: 'target' });
    expect(model.questions).toHaveLength(before);

    layout = 'new';
    const wrong = { ...variables, PASSWORD: 'not the right one' };
    const fifth = await stage.run({
      ...order(),
      variables: wrong,
      model: model.access(),
      plan: { version: 2, content: healed },
    });
    expect(fifth.outcome.failure).toMatchObject({ code: 'ASSERTION_FAILED', owner: 'target' });
    expect(fifth.outcome.detail.assertions).toMatchObject([{ passed: false, actual: 'Wrong password' }]);
    expect(model.questions).toHaveLength(before);
  });
});
