import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files of a minute and more, the longest first: begun last, each would keep one core busy when the others are done. */
export const slowest = [
  'test/checks/playwright-suites.test.ts',
  'test/agent/scripts.test.ts',
  'test/sandbox/abuse.test.ts',
  'test/checks/multi-step-scripts.test.ts',
  'test/checks/browser-scripts.test.ts',
  'test/conformance/stores.test.ts',
  'test/sandbox/sandbox-pool.test.ts',
  'test/faults/planned-faults.test.ts',
  'test/agent/service-faults.test.ts',
  'test/agent/script-kills.test.ts',
  'test/service/processes.test.ts',
  'test/faults/faults.test.ts',
  'test/e2e/takeover.test.ts',
  'test/docs/command-blocks.test.ts',
  'test/agent/results.test.ts',
  'test/agent/probe-pool.test.ts',
  'test/agent/drain.test.ts',
  'test/agent/artifacts.test.ts',
  'test/checks/http-diagnosis.test.ts',
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
