import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files of a minute and more, the longest first: begun last, each would keep one core busy when the others are done. */
export const slowest = [
  'test/system/checks/playwright-suites.test.ts',
  'test/system/agent/scripts.test.ts',
  'test/system/sandbox/abuse.test.ts',
  'test/system/checks/multi-step-scripts.test.ts',
  'test/system/checks/browser-scripts.test.ts',
  'test/integration/conformance/stores.test.ts',
  'test/system/sandbox/sandbox-pool.test.ts',
  'test/system/faults/planned-faults.test.ts',
  'test/integration/agent/service-faults.test.ts',
  'test/system/agent/script-kills.test.ts',
  'test/system/service/processes.test.ts',
  'test/system/faults/faults.test.ts',
  'test/system/e2e/takeover.test.ts',
  'test/integration/docs/command-blocks.test.ts',
  'test/integration/agent/results.test.ts',
  'test/integration/agent/probe-pool.test.ts',
  'test/integration/agent/drain.test.ts',
  'test/integration/agent/artifacts.test.ts',
  'test/system/checks/http-diagnosis.test.ts',
];

/** Starts the files first that take longest; vitest itself goes by the size of files it has never run. */
export default class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const place = ({ moduleId }: TestSpecification) => {
      const index = slowest.indexOf(relative(this.ctx.config.root, moduleId));
      return index === -1 ? slowest.length : index;
    };
    return sorted.toSorted((left, right) => place(left) - place(right));
  }
}
