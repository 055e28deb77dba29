import {
  type DialogueRequest,
  type DialogueResult,
  probeDialogue,
} from '@picket/probes/tcp/dialogue-probe.ts';
import type { ExchangedLine } from '@picket/probes/tcp/dialogue-steps.ts';
import type { Failure } from '../contract/failure.ts';
import { familyName } from '../contract/ip-family.ts';
import { measurementOf, timesToMicroseconds, toMicroseconds } from '../contract/outcome.ts';
import type { RunContext } from '../contract/run-context.ts';
import { cutText } from '../http/body.ts';
import { certificateDetail, expiryOf } from '../http/certificate.ts';
import { tcpConnectionSource } from '../http/connection-assertion.ts';
import { probeFailure } from '../judging/probe-failure.ts';
import { logFamily, wantedFamily } from '../judging/wanted-family.ts';
import { withConnectionDiagnosis } from '../runner/diagnosed-connection.ts';
import { noEvidence } from '../runner/evidence.ts';
import { type ProbeRun, probeRunner, type Reading } from '../runner/probe-runner.ts';
import { bothEnds, placeOf } from '../steps/shown-steps.ts';
import type { TcpDetail } from './detail.ts';
import { prepareConnection, requestDetail, unsentDetail } from './request.ts';
import type { TcpSpec } from './spec.ts';
import { LineSteps } from './steps.ts';

/** Characters of each line that a result keeps. */
const keptLetters = 2000;

type Run = ProbeRun<TcpSpec, Exclude<ReturnType<typeof prepare>, { failure: Failure }>>;
type OwnDetail = Pick<TcpDetail, 'request' | 'steps' | 'response'>;

/** Runs a TCP monitor with steps: connects, executes them in order, and judges the exchange. */
export const runDialogue = probeRunner({
  prepare,
  unsent: (spec) => ({ ...unsentDetail(spec), ...noEvidence }),
  hold: ({ prepared: { target, steps }, controls, context }: Run) =>
    withConnectionDiagnosis<DialogueResult>(
      {
        proxy: target.proxy,
        hold: (onAttempt) => probeDialogue({ target, steps: steps.dialogue }, { ...controls, onAttempt }),
        target: () => ({ ...target, clientIdentity: undefined, alpnProtocols: [] }),
      },
      controls,
      context,
    ),
  read,
});

function prepare(spec: TcpSpec, context: RunContext) {
  const connection = prepareConnection(spec, context);
  if ('failure' in connection) return connection;
  const { port, ipFamily, useSSL, skipSSL } = spec.request;
  const { hostname, serverName, proxy } = connection;
  const target: DialogueRequest['target'] = {
    ...{ hostname, port, serverName, proxy, isSecure: useSSL, isCertificateChecked: !skipSSL },
    family: wantedFamily(ipFamily, context.log),
  };
  return { connection, target, steps: new LineSteps(spec.request.steps, context.variables) };
}

function read({ spec, prepared, context }: Run, result: DialogueResult): Reading<OwnDetail> {
  const { connection, target, steps } = prepared;
  logFamily(target.hostname, result.address, target.family, context.log);
  const responseTimeMs = toMicroseconds(result.phases.total);
  const measured = {
    measurement: measurementOf(result.measurement),
    responseTimeMs,
    ...expiryOf(result.certificate),
  };
  const received = receivedText(result.lines);
  const stored = cutText(received);
  const detail: OwnDetail = {
    request: requestDetail(spec, connection),
    steps: steps.detail(result.outcomes),
    response: {
      ...(result.isConnected && { data: stored.body }),
      truncated: stored.isCut,
      lines: shownLines(result.lines),
      timingPhases: result.isConnected ? timesToMicroseconds(result.phases) : null,
      ipAddress: result.address,
      ipFamily: familyName(result.address),
      certificate: certificateDetail(result.certificate),
    },
  };
  const failed = steps.failure(result.outcomes, result.error && probeFailure(result.error));
  if (failed) return { failure: failed, measured, detail };
  return {
    ...{ measured, detail, assertions: connection.assertions },
    sources: {
      RESPONSE_DATA: () => ({ kind: 'text', text: received }),
      CONNECTION: () => tcpConnectionSource(result),
      RESPONSE_TIME: () => ({ kind: 'value', value: Math.round(responseTimeMs) }),
    },
    limits: spec,
  };
}

function receivedText(lines: readonly ExchangedLine[]): string {
  const texts = lines.filter(({ isSent }) => !isSent).map(({ text }) => text);
  return texts.join('\n');
}

function shownLines(lines: readonly ExchangedLine[]): NonNullable<TcpDetail['response']['lines']> {
  return bothEnds(lines).map((line) => ({
    ...placeOf(line),
    text: line.text.slice(0, keptLetters).toWellFormed(),
    truncated: line.text.length > keptLetters,
  }));
}
