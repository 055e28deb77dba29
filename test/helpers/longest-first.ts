import { existsSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Recorded duration of each file, written by `npm test -- --record-durations`. */
export const durationsFile = join(import.meta.dirname, '../durations.json');

/**
 * Starts the longest files first, so that no core waits for one long file at the end. Files without a recorded duration
 * come first. Files with their own process come before files that share one: a process continues with the next file
 * only if it belongs to the same project.
 */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const durationsMs: Readonly<Record<string, number>> = existsSync(durationsFile)
      ? JSON.parse(readFileSync(durationsFile, 'utf8'))
      : {};
    const durationOf = ({ moduleId }: TestSpecification) =>
      durationsMs[relative(this.ctx.config.root, moduleId)] ?? Number.POSITIVE_INFINITY;
    const longestFirst = (await super.sort(files)).toSorted((left, right) => {
      const [one, other] = [durationOf(left), durationOf(right)];
      return one === other ? 0 : other - one;
    });
    const byProject = [...Map.groupBy(longestFirst, ({ project }) => project)];
    const isShared = ([{ config }]: (typeof byProject)[number]) => Number(!config.isolate);
    return byProject.toSorted((left, right) => isShared(left) - isShared(right)).flatMap(([, own]) => own);
  }
}
