import type { ForwardProxy } from '../../probes/connection/forward-proxy.ts';
import { type DialogueRequest, type DialogueResult, probeDialogue } from '../../probes/dialogue/probe.ts';
import type { ExchangedLine } from '../../probes/dialogue/steps.ts';
import { familyName } from '../contract/ip-family.ts';
import type { Outcome } from '../contract/outcome.ts';
import {
  measurementOf,
  timesToMicroseconds,
  toMicroseconds,
  unjudged,
  withDiagnosisTime,
} from '../contract/outcome.ts';
import type { RunContext } from '../contract/run-context.ts';
import { jobLogOf } from '../contract/run-log.ts';
import { withDiagnosis } from '../evidence/diagnosis.ts';
import type { Evidence } from '../evidence/evidence.ts';
import { connectionObstacle, repeatConnection } from '../evidence/repeat-connection.ts';
import { cutText } from '../http/body.ts';
import { certificateDetail, expiryOf } from '../http/certificate.ts';
import { tcpConnectionSource } from '../http/connection-assertion.ts';
import type { EvaluatedAssertion } from '../judging/assertion.ts';
import { evaluateAssertions } from '../judging/evaluate.ts';
import { probeFailure } from '../judging/probe-failure.ts';
import { judge } from '../judging/verdict.ts';
import { logFamily, wantedFamily } from '../judging/wanted-family.ts';
import type { TcpDetail } from './detail.ts';
import { LineCourse } from './line-course.ts';
import type { PreparedConnection } from './request.ts';
import type { TcpSpec } from './spec.ts';

/** Lines at either end of a long dialogue that a result keeps, and letters of each. */
const keptLines = 100;
const keptLetters = 2000;

/** Runs a TCP monitor with steps: connects, takes them one after the other, and judges what was said. */
export async function runDialogue(
  spec: TcpSpec,
  context: RunContext,
  {
    connection,
    proxy,
  }: { readonly connection: PreparedConnection; readonly proxy: ForwardProxy | undefined },
): Promise<Outcome<TcpDetail>> {
  const { port, ipFamily, useSSL, skipSSL, steps } = spec.request;
  const { hostname, serverName } = connection;
  const course = new LineCourse(steps, context.variables);
  const target: DialogueRequest['target'] = {
    ...{ hostname, port, serverName, isSecure: useSSL, isCertificateChecked: !skipSSL },
    family: wantedFamily(ipFamily, context.log),
    proxy,
  };
  const { resolver, egress, signal, timeoutMs } = context;
  const controls = { resolver, egress, signal, timeoutMs };
  const { result, evidence, diagnosisMs } = await withDiagnosis<DialogueResult>(
    {
      hold: (onAttempt) => probeDialogue({ target, steps: course.dialogue }, { ...controls, onAttempt }),
      failureOf: ({ error }) => error && probeFailure(error),
      obstacleTo: ({ error }) => connectionObstacle(target, error),
      isSeenHanging: !proxy,
      repetition: (peer) => ({
        what: 'connection',
        run: (given) =>
          repeatConnection({ ...target, clientIdentity: undefined, alpnProtocols: [] }, peer, {
            ...controls,
            ...given,
          }),
      }),
    },
    controls,
    context,
  );
  logFamily(hostname, result.address, target.family, context.log);
  const responseTimeMs = toMicroseconds(result.phases.total);
  const measured = withDiagnosisTime(
    { measurement: measurementOf(result.measurement), responseTimeMs, ...expiryOf(result.certificate) },
    diagnosisMs,
  );
  const failed = course.failure(result.outcomes, result.error && probeFailure(result.error));
  const detail = (assertions: EvaluatedAssertion[]) =>
    detailOf(spec, context, { connection, result, course, evidence, assertions, failed: failed?.message });
  if (failed) return { ...unjudged(failed), ...measured, detail: detail([]) };
  const assertions = evaluateAssertions(connection.assertions, {
    RESPONSE_DATA: () => ({ kind: 'text', text: receivedText(result.lines) }),
    CONNECTION: () => tcpConnectionSource(result),
    RESPONSE_TIME: () => ({ kind: 'value', value: Math.round(responseTimeMs) }),
  });
  const { degradedResponseTime, maxResponseTime } = spec;
  const verdict = judge({ responseTimeMs, degradedResponseTime, maxResponseTime, assertions });
  return { ...verdict, ...measured, detail: detail(assertions) };
}

function receivedText(lines: readonly ExchangedLine[]): string {
  const texts = lines.filter(({ isSent }) => !isSent).map(({ text }) => text);
  return texts.join('\n');
}

function detailOf(
  { request }: TcpSpec,
  { log }: RunContext,
  run: {
    readonly connection: PreparedConnection;
    readonly result: DialogueResult;
    readonly course: LineCourse;
    readonly evidence: Evidence;
    readonly assertions: EvaluatedAssertion[];
    readonly failed: string | undefined;
  },
): TcpDetail {
  const { connection, result, course } = run;
  const { port, ipFamily, useSSL, skipSSL } = request;
  const { hostname, serverName } = connection;
  const stored = cutText(receivedText(result.lines));
  return {
    assertions: run.assertions,
    request: {
      ...{ hostname, port, data: null, ipFamily, useSSL, skipSSL },
      ...(serverName !== undefined && { serverName }),
    },
    steps: course.detail(result.outcomes),
    response: {
      ...(result.isConnected && { data: stored.body }),
      truncated: stored.isCut,
      lines: shownLines(result.lines),
      timingPhases: result.isConnected ? timesToMicroseconds(result.phases) : null,
      ipAddress: result.address,
      ipFamily: familyName(result.address),
      certificate: certificateDetail(result.certificate),
    },
    requestError: run.failed ?? null,
    jobLog: jobLogOf(log),
    ...run.evidence,
  };
}

function shownLines(lines: readonly ExchangedLine[]): NonNullable<TcpDetail['response']['lines']> {
  const isLong = lines.length > 2 * keptLines;
  const kept = isLong ? [...lines.slice(0, keptLines), ...lines.slice(-keptLines)] : lines;
  return kept.map(({ isSent, text, atMs, step }) => ({
    direction: isSent ? 'SENT' : 'RECEIVED',
    text: text.slice(0, keptLetters).toWellFormed(),
    truncated: text.length > keptLetters,
    atMs: toMicroseconds(atMs),
    step: step === undefined ? null : step + 1,
  }));
}
