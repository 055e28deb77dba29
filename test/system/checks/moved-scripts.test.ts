import { afterAll, beforeAll, describe, expect } from 'vitest';
import { sampleOf } from '../../helpers/night.ts';
import {
  type ScriptStage,
  type StageOptions,
  scriptTests,
  startScriptStage,
} from '../../helpers/scripts/script-stage.ts';

describe('scripts of projects from other systems', () => {
  let stage: ScriptStage;
  beforeAll(async () => {
    stage = await startScriptStage();
  });
  afterAll(() => stage.close());
  const itRuns = scriptTests(() => stage);
  const run = async (script: string, options?: StageOptions) =>
    (await stage.runMultiStep(script, options)).outcome;

  itRuns('use the helpers by their original name', async () => {
    const marks = "markCheckAsDegraded('slow today');";
    const scripts = [
      `import { test } from '@playwright/test'; import { markCheckAsDegraded } from '@checkly/playwright-helpers'; test('a', () => { ${marks} });`,
      `const { test } = require('@playwright/test'); const { markCheckAsDegraded, getAPIResponseTime } = require('@checkly/playwright-helpers');
       test('a', () => { if (typeof getAPIResponseTime === 'function') ${marks} });`,
      `import { test } from '@playwright/test'; import { markCheckAsDegraded } from "@checkly/playwright-helpers"; await 0; test('a', () => { ${marks} });`,
      `import { markCheckAsDegraded } from '@checkly/playwright-helpers'; ${marks}`,
    ];
    for (const script of sampleOf(scripts, 2)) {
      const { failure, isDegraded, detail } = await run(script);
      expect({ failure, isDegraded, reason: detail.degradedReason }, script).toEqual({
        failure: undefined,
        isDegraded: true,
        reason: 'slow today',
      });
    }
  });
});

describe('a script that cannot reach a server', () => {
  let stage: ScriptStage;
  beforeAll(async () => {
    stage = await startScriptStage();
  });
  afterAll(() => stage.close());
  const itRuns = scriptTests(() => stage);
  const messageOf = async (script: string) => (await stage.runMultiStep(script)).outcome.failure?.message;
  const head = "import { test } from '@playwright/test';\n";

  itRuns('names its line, or its test if no line is known', async () => {
    const url = 'http://127.0.0.1:65000/';
    expect(await messageOf(`${head}test('a', async () => {\n  await fetch('${url}');\n});`)).toMatch(
      /fetch failed: connect ECONNREFUSED 127\.0\.0\.1:65000 \(script\.ts:3:\d+\)$/,
    );
    expect(await messageOf(`const wait = 1;\nawait fetch('${url}');`)).toMatch(
      /fetch failed: .* \(script\.ts:2:\d+\)$/,
    );
    const socket = `await new Promise((done, fail) => require('node:http').get('${url}').on('error', fail));`;
    expect(await messageOf(`${head}\ntest('a', async () => {\n  ${socket}\n});`)).toMatch(
      /connect ECONNREFUSED 127\.0\.0\.1:65000 \(script\.ts:3:\d+\)$/,
    );
  });
});
