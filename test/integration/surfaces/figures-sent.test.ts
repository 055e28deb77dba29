import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { factsOf } from '../../../src/service/alerts/facts.ts';
import { channelTexts } from '../../helpers/surfaces/channel-texts.ts';
import { endings, FiguresStage } from '../../helpers/surfaces/figures-stage.ts';
import { figureProblems, textOf, timeOf } from '../../helpers/surfaces/oracle.ts';

// Messages that leave the service contain the figures and states of the API, too.
let stage: FiguresStage;
beforeAll(async () => {
  stage = await FiguresStage.open();
}, 120_000);
afterAll(() => stage.close());

describe('metrics of checks', () => {
  it('have the states and times of the API, and nothing about unmeasured checks', async () => {
    const text = String(await stage.call('GET', '/metrics/checks'));
    const sampleOf = (name: string, id: string, more = '') =>
      new RegExp(`^${name}\\{check="${id}"[^\\n]*${more}[^\\n]*\\} ([^ \\n]+)$`, 'm').exec(text)?.[1];
    const statuses: { checkId: string; state: string }[] = await stage.call('GET', '/v1/check-statuses');
    const states = new Map(statuses.map(({ checkId, state }) => [checkId, state]));
    for (const [name, id] of stage.ids) {
      const state = states.get(id) ?? (name === 'paused' ? 'paused' : 'pending');
      expect([name, sampleOf('picket_check_state', id, `state="${state}"`)]).toEqual([name, '1']);
      const up = { passing: '1', degraded: '1', failing: '0' }[state];
      expect([name, sampleOf('picket_check_up', id)]).toEqual([name, up]);
    }
    expect(text.match(/^picket_check_state\{/gm)).toHaveLength(stage.ids.size);
  });
});

describe('messages', () => {
  it('of every kind of channel contain the times of the alert, and no badly formatted figure', async () => {
    const stored = await stage.harness.store.checks.find(stage.harness.accountId, stage.id('nothing'));
    if (!stored) throw new Error('there is no such check');
    const began = Date.UTC(2026, 2, 28, 10);
    const failed = endings.nothing.failure;
    const facts = factsOf(
      stored,
      {
        ...{
          id: 'r1',
          check_type: 'URL',
          check_id: stored.id,
          slot_at: 0,
          run_location: 'lab',
          response_time: 59_999.6,
        },
        ...{ owner: failed.owner, code: failed.code, message: failed.message, error_messages: '[]' },
        ...{ started: began + 26 * 3_600_000, failure_details: null, detail: null },
        ...{ has_failures: 1, has_errors: 0, is_degraded: 0 },
      },
      { since: began },
    );
    for (const [kind, text] of channelTexts(facts)) {
      // Instants and ids are for programs as well; variables of webhooks are as in the API.
      const words = text.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z|[\da-f]{8}-[\da-f-]{27}/g, '');
      if (kind === 'WEBHOOK') {
        expect(JSON.parse(text)).toMatchObject({
          RESPONSE_TIME: 59_999.6,
          SINCE: '2026-03-28T10:00:00.000Z',
        });
        continue;
      }
      expect([kind, figureProblems(textOf(words)).filter((one) => !/^\d{10}/.test(one))]).toEqual([kind, []]);
      if (!words.includes('Response time')) continue;
      expect([kind, words]).toEqual([kind, expect.stringContaining(timeOf(59_999.6))]);
      expect([kind, words]).toEqual([kind, expect.stringContaining('26 h')]);
    }
  });
});
