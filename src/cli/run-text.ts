import { stripVTControlCharacters, styleText } from 'node:util';
import { z } from 'zod';
import { resultFlags } from '../checks/contract/failure.ts';
import { EvaluatedAssertion } from '../checks/judging/assertion.ts';
import { failureWords } from '../checks/judging/failure-words.ts';
import { TracerouteDetail, type TracerouteHop } from '../checks/traceroute/detail.ts';
import { durationText } from '../lib/figures/duration.ts';
import type { ResultReport } from '../protocol/agent/agent.ts';

export type Verdict = 'PASSED' | 'DEGRADED' | 'FAILED' | 'ERROR';

/** What a detail may hold that is worth a table; a type without it simply shows less. */
const Assertions = z.object({ assertions: z.array(EvaluatedAssertion) });
const Phases = z.object({ response: z.object({ timingPhases: z.record(z.string(), z.number()) }) });
const Answer = z.object({
  response: z.object({ status: z.number(), statusText: z.string(), href: z.string() }),
});
const Log = z.object({
  jobLog: z.record(z.string(), z.array(z.object({ level: z.string(), msg: z.string() }))),
});

/** The verdict of a report, as the API's flags mean it. */
export function verdictOf(report: ResultReport): Verdict {
  const { hasErrors, hasFailures } = resultFlags(report.failure ?? undefined);
  if (hasErrors) return 'ERROR';
  if (hasFailures) return 'FAILED';
  return report.isDegraded === true ? 'DEGRADED' : 'PASSED';
}

const colours = { PASSED: 'green', DEGRADED: 'yellow', FAILED: 'red', ERROR: 'magenta' } as const;

/** A run's report as text for a terminal; colours are left out where the stream has none. */
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
    const { code, message } = report.failure;
    const { sentence, whatFailed } = failureWords(report.failure);
    lines.push(`  ${code} (${whatFailed}): ${sentence}`);
    if (!sentence.includes(message.trim())) lines.push(`  ${message}`);
  }
  for (const message of report.errorMessages) {
    if (message !== report.failure?.message) lines.push(`  ${message}`);
  }
  const answer = Answer.safeParse(report.detail).data?.response;
  if (answer && answer.status > 0) lines.push(`  ${answer.status} ${answer.statusText}  ${answer.href}`);
  const phases = Phases.safeParse(report.detail).data?.response.timingPhases;
  if (phases) {
    lines.push(
      `  ${Object.entries(phases)
        .map(([phase, ms]) => `${phase} ${durationText(ms)}`)
        .join('  ')}`,
    );
  }
  for (const hop of TracerouteDetail.safeParse(report.detail).data?.response?.hops ?? []) {
    lines.push(hopLine(hop));
  }
  const assertions = Assertions.safeParse(report.detail).data?.assertions ?? [];
  for (const assertion of assertions) lines.push(assertionLine(assertion, paint));
  for (const [stage, entries] of Object.entries(Log.safeParse(report.detail).data?.jobLog ?? {})) {
    for (const { level, msg } of entries) lines.push(`  ${stage} ${level}: ${msg}`);
  }
  for (const { name, sizeBytes, state, reason } of report.artifacts ?? []) {
    const size = state === 'awaited' ? `${sizeBytes} bytes` : undefined;
    lines.push(`  artifact ${name}: ${[size, reason].filter(Boolean).join('; ')}`);
  }
  return lines.join('\n');
}

/** ` 3  203.0.113.9 (edge.example.net)  9.120 ms (8.804 to 9.700)  2 of 3`. */
function hopLine({ hopNumber, ips, mainHost, rtt, received, sent, error }: TracerouteHop): string {
  const number = `  ${String(hopNumber).padStart(2)}`;
  if (ips.length === 0) return `${number}  *  ${error ?? 'no reply'}`;
  const who = `${ips.join(', ')}${mainHost === null ? '' : ` (${stripVTControlCharacters(mainHost)})`}`;
  const times = rtt
    ? `${durationText(rtt.avg)} (${durationText(rtt.best)} to ${durationText(rtt.worst)})`
    : '?';
  return [number, who, times, `${received} of ${sent}`, error].filter((part) => part !== null).join('  ');
}

function assertionLine(
  { source, property, comparison, target, actual, error }: EvaluatedAssertion,
  paint: (format: 'green' | 'red', text: string) => string,
): string {
  const mark = error === null ? paint('green', 'holds') : paint('red', 'fails');
  const subject = property === '' ? source : `${source} ${property}`;
  return `  ${mark}  ${subject}  ${comparison} ${target}, actual ${shorten(actual)}`;
}

function shorten(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return text.length <= 60 ? text : `${text.slice(0, 59)}…`;
}
