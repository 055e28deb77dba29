import { afterAll, beforeAll, describe, expect } from 'vitest';
import { sampleOf } from '../../helpers/night.ts';
import { type ScriptStage, scriptTests, startScriptStage } from '../../helpers/scripts/script-stage.ts';

const head = "import { test, expect } from '@playwright/test';\n";
/** Statements that a script can make about itself, as in its file of notes and on descriptor 3. */
const say = `const say = (event) => require('node:fs').writeSync(3, JSON.stringify({ at: Date.now(), ...event }) + '\\n');`;

describe('what scripts claim', () => {
  let stage: ScriptStage;
  beforeAll(async () => {
    stage = await startScriptStage();
  });
  afterAll(async () => {
    await stage.close();
  });

  const itRuns = scriptTests(() => stage);

  const green = "{ event: 'end', status: 'passed', durationMs: 1 }";
  const begun = "{ event: 'begin', tests: 1 }";
  const passedTest = `{ event: 'test-end', test: 't', title: 't', status: 'passed', isExpected: true, isLast: true,
    startedAt: 1, durationMs: 1, errors: [], attachments: [] }`;
  const itself =
    "const events = Object.keys(require.cache).find((file) => file.endsWith('/program/events.cjs'));";
  const forgeries: Readonly<Record<string, string>> = {
    'a plain script that says it has passed and exits': `${say} say(${begun}); say(${green}); process.exit(0);`,
    'one that does so with half a line, half a character, and nothing behind it': `
      const fs = require('node:fs'); ${say} fs.writeSync(3, Buffer.from([0x7b, 0xe2, 0x82]));
      say(${green}); fs.writeSync(3, '{"event":"end","status":"passed"'); process.exit(0);`,
    'one that asks the program of the agent': `${itself} const own = require(events);
      (own.send ?? own.senderWith('')) (${green}); process.exit(0);`,
    'one that reads what is written before it fails': `const fs = require('node:fs'); let seen = '';
      const { from } = Buffer; Buffer.from = (...given) => { seen += given[0]; return from(...given); };
      const { subarray } = Buffer.prototype;
      Buffer.prototype.subarray = function (...given) { seen += this.toString(); return subarray.apply(this, given); };
      console.log('x'); const [, token = ''] = /([0-9a-f-]{36}) {"at"/.exec(seen) ?? [];
      fs.writeSync(3, '\\n' + token + ' ' + JSON.stringify(${green}) + '\\n'); process.exit(0);`,
    'tests that are collected by a process that exits': `${head}${say} say({ event: 'mode', mode: 'test' });
      say(${begun}); say(${passedTest}); say(${green}); test('one', () => {}); process.exit(0);`,
    'a collecting process that makes a reporter of the agent': `${head}
      const file = Object.keys(require.cache).find((name) => name.endsWith('/run/reporter.cjs'));
      if (file) { const reporter = new (require(file))(); reporter.onBegin({}, { allTests: () => [{ outcome: () => 'expected', results: [{ stdout: [], stderr: [] }] }] });
        reporter.onEnd({ status: 'passed', duration: 1 }); process.exit(0); }
      test('one', () => { throw new Error('red'); });`,
    'a collecting process that changes the reporter of the agent': `${head}
      const file = Object.keys(require.cache).find((name) => name.endsWith('/run/reporter.cjs'));
      if (file) { const { prototype } = require(file); const { onTestEnd, onEnd } = prototype;
        try { prototype.onTestEnd = function (test, result) {
          onTestEnd.call(this, test, { ...result, status: 'passed', errors: [] }); };
          prototype.onEnd = function () { onEnd.call(this, { status: 'passed', duration: 1 }); process.exit(0); }; } catch {} }
      test('one', () => { throw new Error('red'); });`,
    'a test that writes where its runner does': `${head}const fs = require('node:fs');
      test('one', () => {
        for (let number = 3; number < 64; number++) for (const event of [${passedTest}, ${green}]) {
          try { if (fs.fstatSync(number).isSocket()) fs.writeSync(number, JSON.stringify(event) + '\\n'); } catch {}
        }
        throw new Error('red'); });`,
    'a test whose runner loses its descriptor': `${head}test('one', () => { throw new Error('red'); });
      if (Object.keys(require.cache).some((name) => name.endsWith('/run/reporter.cjs'))) {
        require('node:fs').closeSync(3); }`,
  };
  for (const [who, script] of sampleOf(Object.entries(forgeries), 4)) {
    itRuns(`are not a success of ${who}`, async () => {
      const { outcome } = await stage.runMultiStep(script);
      expect(outcome.failure).toMatchObject({ code: 'SCRIPT_FAILED', owner: 'target' });
      expect(outcome.isDegraded).toBe(false);
    });
  }

  itRuns(
    'do not hide statements after half a line, or after a hundred megabytes without a line end',
    async () => {
      const { outcome } = await stage.runMultiStep(
        `${head}if (!process.send) require('node:fs').writeSync(3, '{"event":"test-end",');
      test('one', () => { throw new Error('my own red'); });`,
      );
      expect(outcome.failure).toMatchObject({
        code: 'SCRIPT_FAILED',
        message: expect.stringContaining('my own red'),
      });
      const flood = await stage.runMultiStep(
        `${head}if (!process.send) { const chunk = Buffer.alloc(1024 * 1024, 'x');
        for (let i = 0; i < 100; i++) require('node:fs').writeSync(3, chunk); }
      test('one', () => { throw new Error('my own red'); });`,
      );
      expect(flood.outcome.failure).toMatchObject({ owner: 'target' });
      expect(flood.outcome.failure?.code).toMatch(/^SCRIPT_(?:FAILED|LIMIT_EXCEEDED)$/);
    },
  );

  itRuns('do not name the agent as the cause of their failure', async () => {
    const { outcome } = await stage.runMultiStep(
      `${say} say({ event: 'broken', error: { name: 'Error', message: 'the agent', stack: null } }); process.exit(70);`,
    );
    expect(outcome.failure).toMatchObject({ code: 'SCRIPT_FAILED', owner: 'target' });
  });

  itRuns('eight megabytes of secrets end the run only, and none of them is revealed', async () => {
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

  itRuns('a run is over when all of its tests are, including serial ones with retries', async () => {
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
