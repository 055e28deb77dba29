import { packFiles } from '../../../helpers/scripts/suite-bundle.ts';
import { linkRuntime, startSuiteStage } from '../../../helpers/scripts/suite-stage.ts';
import type { SampleBody, Samples } from './samples.ts';

const codeBundlePath = `${'0'.repeat(64)}-1`;

export const samples: Samples = {
  minimal: { codeBundlePath },
  refused: {
    codeBundlePath: { codeBundlePath: '../elsewhere' },
    'browsers.0': { codeBundlePath, browsers: ['netscape'] },
    testCommand: { codeBundlePath, testCommand: '' },
    workingDir: { codeBundlePath, workingDir: '../up' },
    engine: { codeBundlePath, engine: 'deno' },
    retryStrategy: { codeBundlePath, retryStrategy: { type: 'FIXED' } },
    doubleCheck: { codeBundlePath, doubleCheck: true },
    frequency: { codeBundlePath, frequency: 0 },
  },
  start: async () => {
    const stage = await startSuiteStage();
    const suite = async (test: string): Promise<SampleBody> => {
      const files = { 'a.spec.ts': `import { test, expect } from '@playwright/test'; ${test}` };
      const bundle = stage.bundles.add(await packFiles(files));
      return { codeBundlePath: bundle, browsers: [], ...linkRuntime(stage) };
    };
    const passing = await suite("test('t', () => {});");
    return {
      passing,
      failing: [
        {
          name: 'an assertion',
          body: await suite(
            "test.describe.configure({ retries: 0 }); test('t', () => { expect(1).toBe(2); });",
          ),
          code: 'SCRIPT_FAILED',
        },
        {
          name: 'a command that is none',
          body: { ...passing, testCommand: 'nonsense' },
          code: 'SCRIPT_INVALID',
        },
        {
          name: 'an installation that fails',
          body: { ...passing, installCommand: 'false' },
          code: 'INSTALL_FAILED',
        },
        { name: 'no such bundle', body: { codeBundlePath, browsers: [] }, code: 'BUNDLE_INVALID' },
      ],
      hanging: { ...passing, testCommand: 'sleep 300' },
      context: { scripts: stage.host, timeoutMs: 50_000 },
      missing: stage.missing,
      close: stage.close,
    };
  },
};
