import type { SummarySection, SummaryText, SummaryValue } from '../summary/detail-summary.ts';
import { took } from '../summary/parts.ts';

const [shownTests, shownErrors] = [200, 20];

interface Test {
  readonly title: string;
  readonly status: string;
  readonly durationMs: number;
  readonly didNotRun?: boolean | undefined;
  /** Its file and project, if a suite has several. */
  readonly where?: string;
}

/** Tests with their outcome, those that did not pass first. */
export function testsSection(tests: readonly Test[]): SummarySection {
  const isPassed = ({ status }: Test) => Number(status === 'passed');
  const hasPlaces = tests.some(({ where }) => where);
  return {
    title: 'Tests',
    table: {
      caption: 'Tests',
      empty: 'No test ran.',
      columns: [
        { title: 'Outcome', role: 'compared' },
        { title: 'Test', role: 'key' },
        ...(hasPlaces ? [{ title: 'Where', isMinor: true }] : []),
        { title: 'Time', isNumber: true, role: 'compared' },
      ],
      rows: tests
        .toSorted((left, right) => isPassed(left) - isPassed(right))
        .slice(0, shownTests)
        .map((test) => [
          ...[outcomeOf(test), test.title],
          ...(hasPlaces ? [test.where ?? ''] : []),
          took(test.durationMs),
        ]),
    },
  };
}

function outcomeOf({ status, didNotRun = false }: Test): SummaryValue {
  if (status === 'passed') return { kind: 'state', state: 'passed', text: 'Passed' };
  if (didNotRun) return { kind: 'state', state: 'off', text: 'Did not run' };
  if (status === 'skipped') return { kind: 'state', state: 'off', text: 'Skipped' };
  return { kind: 'state', state: 'failed', text: status === 'timedOut' ? 'Timed out' : 'Failed' };
}

/** Errors, each under the title of its test. */
export function errorsSection(
  errors: readonly { readonly test: string | null; readonly text: string }[],
): SummarySection {
  return {
    title: 'Errors',
    texts: errors
      .slice(0, shownErrors)
      .map(({ test, text }): SummaryText => ({ label: test ?? 'Outside of tests', text })),
  };
}
