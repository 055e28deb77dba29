import { existsSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** How long each file took when they were last recorded: `npm test -- --record-durations` writes it. */
export const durationsFile = join(import.meta.dirname, '../durations.json');

/** Starts the files first that take longest, so that no core waits for one long file at the end. Files not recorded yet come first. */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const durationsMs: Readonly<Record<string, number>> = existsSync(durationsFile)
      ? JSON.parse(readFileSync(durationsFile, 'utf8'))
      : {};
    const durationOf = ({ moduleId }: TestSpecification) =>
      durationsMs[relative(this.ctx.config.root, moduleId)] ?? Number.POSITIVE_INFINITY;
    return (await super.sort(files)).toSorted((left, right) => {
      const [one, other] = [durationOf(left), durationOf(right)];
      return one === other ? 0 : other - one;
    });
  }
}
