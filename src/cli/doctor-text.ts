import { styleText } from 'node:util';
import type { Finding, FindingStatus } from '@picket/agent/doctor/examination.ts';

const marks: Readonly<Record<FindingStatus, string>> = {
  ok: '✓ ok',
  warning: '! warning',
  problem: '✗ problem',
  skipped: '- skipped',
};
const colours = { ok: 'green', warning: 'yellow', problem: 'red', skipped: 'gray' } as const;
const markWidth = 9;
/** Width of the longest name of an examination. */
const nameWidth = 13;

/** Formats a finding: a line with its status, and the remedy below it. Without colours if the stream has none. */
export function findingText(finding: Finding, stream: NodeJS.WriteStream): string {
  const { status, examination, about, detail, fix } = finding;
  const paint = (format: Parameters<typeof styleText>[0], text: string) =>
    styleText(format, text, { stream, validateStream: true });
  const mark = paint(colours[status], marks[status].padEnd(markWidth));
  const name = examination.padEnd(nameWidth);
  const subject = about === undefined ? '' : `${paint('bold', about)}: `;
  const line = `${mark}  ${name}  ${subject}${oneLine(detail)}`;
  if (fix === undefined) return line;
  return `${line}\n${' '.repeat(markWidth + nameWidth + 4)}→ ${oneLine(fix)}`;
}

/** Returns the last line: the number of findings of each status. */
export function summaryText(findings: readonly Finding[], stream: NodeJS.WriteStream): string {
  const count = (status: FindingStatus) => findings.filter((finding) => finding.status === status).length;
  const [problems, warnings] = [count('problem'), count('warning')];
  const text =
    problems === 0 && warnings === 0
      ? 'No problems were found.'
      : `${plural(problems, 'problem')}, ${plural(warnings, 'warning')}.`;
  const colour = problems > 0 ? 'red' : warnings > 0 ? 'yellow' : 'green';
  return styleText(['bold', colour], text, { stream, validateStream: true });
}

/** Whether any finding is a problem, which determines the exit code. */
export function hasProblems(findings: readonly Finding[]): boolean {
  return findings.some(({ status }) => status === 'problem');
}

function plural(count: number, noun: string): string {
  return `${count === 0 ? 'no' : count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Messages of systems and peers may contain any characters. */
function oneLine(text: string): string {
  return text.replaceAll(/\p{C}+/gu, ' ').trim();
}
