import { startScriptStage } from '../../../helpers/scripts/script-stage.ts';
import type { RunSamples, SampleBody } from './samples.ts';

const script = "import { test } from '@playwright/test'; test('t', () => {});";

/** Bodies that every script check refuses. */
export const refusedScripts: Readonly<Record<string, SampleBody>> = {
  script: { script: '' },
  scriptPath: { script, scriptPath: '../outside.ts' },
  'dependencies.0.path': { script, dependencies: [{ path: 'node_modules/zod/index.js', content: 'x' }] },
  'dependencies.0.content': { script, dependencies: [{ path: 'a.ts', content: '' }] },
  runtimeId: { script, runtimeId: '2019.01' },
  frequency: { script, frequency: 0 },
};

export const minimalScript: SampleBody = { script };

const test = (body: string): SampleBody => ({
  script: `import { test, expect } from '@playwright/test'; test('t', async ({ request }) => { ${body} });`,
});

/** Runs of scripts without a browser, in sandboxes without isolation: the scripts are our own. */
export async function startScriptSamples(): Promise<RunSamples> {
  const stage = await startScriptStage();
  return {
    passing: test('expect(1).toBe(1);'),
    failing: [
      { name: 'an assertion', body: test('expect(1).toBe(2);'), code: 'SCRIPT_FAILED' },
      { name: 'a script that is none', body: { script: 'const ;' }, code: 'SCRIPT_INVALID' },
      { name: 'an early exit', body: { script: 'process.exit(0);' }, code: 'SCRIPT_FAILED' },
      {
        name: 'a loop without an end',
        body: { script: 'for (;;);' },
        code: 'SCRIPT_TIMED_OUT',
        timeoutMs: 2000,
      },
    ],
    hanging: { script: 'await new Promise((resolve) => setTimeout(resolve, 300_000));' },
    context: { scripts: stage.host, timeoutMs: 50_000 },
    missing: stage.missingRuntimes,
    close: stage.close,
  };
}
