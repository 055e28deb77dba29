import { styleText } from 'node:util';
import { resultFlags } from '@picket/checks/contract/failure.ts';
import { failureWords } from '@picket/checks/judging/failure-words.ts';
import { durationText } from '@picket/lib/figures/duration.ts';
import type { ResultReport } from '@picket/protocol/agent/agent.ts';
import { summaryOf } from '@picket/protocol/results/check-result.ts';
import { summaryLines } from './summary-text.ts';

export type Verdict = 'PASSED' | 'DEGRADED' | 'FAILED' | 'ERROR';

/** Returns the verdict of a report, from the API's flags. */
export function verdictOf(report: ResultReport): Verdict {
  const { hasErrors, hasFailures } = resultFlags(report.failure ?? undefined);
  if (hasErrors) return 'ERROR';
  if (hasFailures) return 'FAILED';
  return report.isDegraded === true ? 'DEGRADED' : 'PASSED';
}

const colours = { PASSED: 'green', DEGRADED: 'yellow', FAILED: 'red', ERROR: 'magenta' } as const;

/** Formats a run's report for a terminal, without colours if the stream has none. */
export function runText(
  check: { readonly name: string; readonly checkType: string },
  report: ResultReport,
  stream: NodeJS.WriteStream,
): string {
  const verdict = verdictOf(report);
  const paint = (format: Parameters<typeof styleText>[0], text: string) =>
    styleText(format, text, { stream, validateStream: true });
  const lines = [
    `${paint(colours[verdict], verdict)}  ${paint('bold', check.name)}  (${check.checkType})  ${durationText(report.responseTimeMs)}`,
  ];
  if (report.failure) {
    const { code } = report.failure;
    const { sentence, whatFailed, wholeMessage } = failureWords(report.failure);
    lines.push(`  ${code} (${whatFailed}): ${sentence}`);
    if (wholeMessage !== null) lines.push(`  ${wholeMessage}`);
  }
  for (const message of report.errorMessages) {
    if (message !== report.failure?.message) lines.push(`  ${message}`);
  }
  const summary = summaryOf(check.checkType, report.detail);
  const width = stream.columns ?? 100;
  if (summary) lines.push(...summaryLines(summary, { paint, width, isWhole: verdict !== 'PASSED' }));
  for (const { name, sizeBytes, state, reason } of report.artifacts ?? []) {
    const size = state === 'awaited' ? `${sizeBytes} bytes` : undefined;
    lines.push(`  artifact ${name}: ${[size, reason].filter(Boolean).join('; ')}`);
  }
  return lines.join('\n');
}
