import type { ChannelMessage } from '@picket/channels/contract/message.ts';
import type { WebhookConfig } from '@picket/channels/webhook/config.ts';
import { TemplateError } from '@picket/checks/judging/templating.ts';
import { describe, expect, it } from 'vitest';
import { TemplateThread } from './template-thread.ts';

const message: ChannelMessage = {
  id: 'n1',
  title: 'Shop has failed',
  cause: 'It is down.',
  owner: 'the target',
  since: 0,
  locations: [],
  error: null,
  ...{ subjectLine: '', state: { word: '', tone: 'failed' }, thread: '', actions: [] },
  severity: 'critical',
  isOver: false,
  subject: 'check',
  subjectId: 'c1',
  incidentKey: 'picket-check-c1',
  tags: [],
  facts: [],
  link: null,
  createdAt: 0,
  variables: { ALERT_TITLE: 'Shop has failed', CHECK_NAME: 'Shop' },
};
const webhook = (template: string): WebhookConfig => ({
  name: 'hook',
  url: 'https://x.test/',
  webhookType: null,
  method: 'POST',
  template,
  headers: [],
  queryParameters: [],
  webhookSecret: null,
});

const letters = (count: number) => 'a'.repeat(count);
/** A text of almost a million characters, built anew each time. */
const long = `(replace "${letters(990)}" "a" "${letters(990)}")`;
const loop = (inner: string) => `{{#each (split "${letters(900)}" "")}}${inner}{{/each}}`;
const withinLists = Array.from({ length: 60 }).reduce<string>(
  (inner) => `{{#with (split ${long} "")}}${inner}{{/with}}`,
  'x',
);

describe('the template thread of webhooks', () => {
  it('fills templates, and reports errors in others', async () => {
    const thread = new TemplateThread();
    const { body } = await thread.request('one', webhook('{"t":"{{ALERT_TITLE}}"}'), message, 1);
    expect(body).toBe('{"t":"Shop has failed"}');
    await expect(thread.request('one', webhook('{{#if}}'), message, 1)).rejects.toBeInstanceOf(TemplateError);
    const [problem, ...others] = await thread.problems('one', webhook('{{> x}}'));
    expect([problem?.key, others]).toEqual(['config.template', []]);
  });

  it.each([
    ['takes long', loop(`{{#if (startsWith ${long} "b")}}{{/if}}`.repeat(20))],
    ['takes much memory', withinLists],
  ])('ends one that %s, refuses it from then on, and continues', async (_what, template) => {
    const thread = new TemplateThread();
    const hostile = Array.from({ length: 20 }, () => thread.request('one', webhook(template), message, 1));
    const other = thread.request('two', webhook('{{CHECK_NAME}}'), message, 1);
    const ended = await Promise.allSettled([...hostile, other]);
    for (const end of ended.slice(0, -1)) {
      expect(end).toMatchObject({ status: 'rejected', reason: { name: 'TemplateError' } });
      expect(String((end as PromiseRejectedResult).reason)).toContain('take more than');
    }
    expect(ended.at(-1)).toMatchObject({ status: 'fulfilled', value: { body: 'Shop' } });
    const [problem] = await thread.problems('one', webhook(template));
    expect(problem?.message).toContain('take more than');
  });

  it('serves accounts in turn', async () => {
    const thread = new TemplateThread();
    const order: string[] = [];
    const ask = async (accountId: string) => {
      await thread.request(accountId, webhook('{{CHECK_NAME}}'), message, 1);
      order.push(accountId);
    };
    await Promise.all([...Array.from({ length: 5 }, () => ask('one')), ask('two'), ask('three')]);
    expect(order.slice(0, 4).sort()).toEqual(['one', 'one', 'three', 'two']);
  });
});
