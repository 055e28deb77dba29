import { expect, it } from 'vitest';
import { failure } from '../../../../src/checks/contract/failure.ts';
import type { PlaywrightDetail } from '../../../../src/checks/playwright/detail.ts';
import { reportOf } from '../../../helpers/service/service.ts';
import type { StoreStage } from './stage.ts';

type SuiteError = PlaywrightDetail['errors'][number];

/** Error groups of test sessions include the failed tests. */
export function suiteErrorSuite(stage: StoreStage): void {
  const call = async (method: string, path: string, body?: unknown) => {
    const answer = await stage.harness.call(method, `/v1/${path}`, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const errorOf = (message: string, test: Partial<SuiteError> = {}): SuiteError => ({
    error: { message, stack: null },
    testTitle: null,
    testFile: null,
    projectName: null,
    suitePath: [],
    specId: null,
    ...test,
  });
  const detailOf = (errors: SuiteError[]): PlaywrightDetail => ({
    errors,
    stats: { expected: 0, unexpected: errors.length, flaky: 0, skipped: 0 },
    tests: [],
    startTime: 1,
    endTime: 2,
    playwrightVersion: '1.58.2',
    packageManager: 'npm',
    install: null,
    peakMemoryBytes: 1,
    cpuMs: 1,
    jobLog: [],
    jobAssets: [],
    playwrightTestVideos: [],
    playwrightTestTraces: [],
    playwrightTestJsonReportFile: null,
  });

  it('names the tests of suites in which an error occurred, one for each occurrence, newest first', async () => {
    await stage.start();
    const check = await call('POST', 'checks/playwright', {
      name: 'suite',
      codeBundlePath: `${'0'.repeat(64)}-1`,
      privateLocations: ['lab'],
    });
    const claimed = { checkTypes: ['PLAYWRIGHT'], freeSlots: { probe: 0, script: 5 } };
    await stage.agent.claim(claimed);
    const runWith = async (...errors: SuiteError[]) => {
      await call('POST', 'test-sessions/trigger', {
        name: 'try',
        projectId: 'shop',
        runLocation: 'lab',
        target: { checkId: check.id },
      });
      const [run] = await stage.agent.claim(claimed);
      if (!run) throw new Error('nothing was leased');
      const errorMessages = [...new Set(errors.map(({ error }) => error.message))];
      const down = failure('SCRIPT_FAILED', errorMessages[0] ?? '');
      const report = reportOf(run, { failure: down, errorMessages, detail: detailOf(errors) });
      expect(await stage.agent.report([report])).toEqual(['accepted']);
    };
    const login = {
      projectName: 'chromium',
      testFile: 'login.spec.ts',
      testTitle: 'logs in',
      suitePath: ['shop'],
    };
    const pay = { projectName: 'webkit', testFile: 'pay.spec.ts', testTitle: 'pays \u0000', suitePath: [] };
    const message = 'expect(received).toBe(expected) of the basket';
    await runWith(errorOf(message, login), errorOf('The command wrote nothing'));
    await runWith(errorOf(message, login), errorOf(message, pay));
    const groups = await call('GET', 'test-session-error-groups/projects/shop');
    const of = (text: string) =>
      groups.find(({ rawErrorMessage }: { rawErrorMessage: string }) => rawErrorMessage === text);
    expect(of(message)).toMatchObject({ count: 2, pwtMetadata: [pay, login, login] });
    expect(of('The command wrote nothing')).toMatchObject({ count: 1, pwtMetadata: null });
    for (let turn = 0; turn < 4; turn += 1) {
      await runWith(
        ...Array.from({ length: 30 }, (_, n) => errorOf(message, { ...login, testTitle: `${turn} ${n}` })),
      );
    }
    const { pwtMetadata } = await call('GET', `test-session-error-groups/${of(message).id}`);
    expect(pwtMetadata).toHaveLength(100);
    expect(pwtMetadata[0]).toEqual({ ...login, testTitle: '3 29' });
  });
}
