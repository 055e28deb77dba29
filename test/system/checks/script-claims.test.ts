import { afterAll, beforeAll, describe, expect } from 'vitest';
import { type ScriptStage, scriptTests, startScriptStage } from '../../helpers/scripts/script-stage.ts';

const head = "import { test, expect } from '@playwright/test';\n";
/** What a script can say of itself, as it stands in its file of notes and on descriptor 3. */
const say = `const say = (event) => require('node:fs').writeSync(3, JSON.stringify({ at: Date.now(), ...event }) + '\\n');`;
const weekMs = 7 * 86_400_000;

describe('what scripts claim', () => {
  let stage: ScriptStage;
  beforeAll(async () => {
    stage = await startScriptStage();
  });
  afterAll(async () => {
    await stage.close();
  });

  const itRuns = scriptTests(() => stage);

  itRuns('paths of attachments that no file can have are nothing to keep', async () => {
    const attachment = "{ name: 'trace', contentType: 'application/zip', path: 'a\\0b' }";
    const { outcome, artifacts } = await stage.runMultiStep(
      `${say} say({ event: 'test-end', test: 't', title: 't', status: 'passed', isExpected: true, isLast: true,
        startedAt: 0, durationMs: 1, errors: [], attachments: [${attachment}] });`,
    );
    expect(outcome.failure).toBeUndefined();
    expect(artifacts.map(({ name }) => name)).not.toContain('traces/t.zip');
  });

  itRuns('durations cannot be longer than the run', async () => {
    const { outcome } = await stage.runMultiStep(
      `${say} for (let i = 0; i < 3; i++) say({ event: 'test-end', test: 't' + i, title: 't', status: 'passed',
        isExpected: true, isLast: true, startedAt: 1e300, durationMs: ${weekMs - 1}, errors: [], attachments: [] });
      say({ event: 'end', status: 'passed', durationMs: ${weekMs} });`,
    );
    expect(outcome.responseTimeMs).toBeLessThanOrEqual(outcome.detail.endTime - outcome.detail.startTime);
    expect(outcome.measurement?.overheadMs).toBeGreaterThanOrEqual(0);
    for (const { startedAt } of outcome.detail.tests) expect(startedAt).toBeLessThanOrEqual(8.64e15);
  });

  itRuns('eight megabytes of secrets end the run alone, and nothing of it is told', async () => {
    const { outcome, artifacts } = await stage.runMultiStep(
      `${head}test('one', () => {
        console.log('first-' + 'canary');
        for (let i = 0; i < 100_000; i++) process.env.SERVICE_SECRET_X = 'last-canary-' + i;
        console.log('last-canary-99999');
        throw new Error('last-canary-99998');
      });`,
    );
    expect(outcome.failure).toMatchObject({ code: 'SCRIPT_LIMIT_EXCEEDED', owner: 'target' });
    expect(JSON.stringify(outcome)).not.toContain('canary');
    expect(artifacts).toEqual([]);
  });

  itRuns('secrets are masked however much else was noted before them', async () => {
    const { outcome } = await stage.runMultiStep(
      `${head}test('one', () => {
        const line = JSON.stringify({ at: 1, event: 'finding', kind: 'console', message: 'x'.repeat(8000), url: '' });
        for (let i = 0; i < 1200; i++) require('node:fs').appendFileSync(process.env.PICKET_NOTES, line + '\\n');
        process.env.SERVICE_SECRET_X = 'told-at-the-end';
      });`,
    );
    expect(outcome.failure).toBeUndefined();
    expect(outcome.secrets).toEqual(['told-at-the-end']);
  });

  itRuns('a run is over when all of its tests are: serial ones with retries, too', async () => {
    const { outcome } = await stage.runMultiStep(
      `${head}test.describe.configure({ mode: 'serial', retries: 1 });
      test('first', () => {});
      test('second', ({}, info) => { expect(info.retry).toBe(1); });
      test('third', () => { throw new Error('the third fails'); });`,
    );
    expect(outcome.failure).toMatchObject({ code: 'SCRIPT_FAILED' });
    expect(outcome.failure?.message).toContain('the third fails');
  });
});
