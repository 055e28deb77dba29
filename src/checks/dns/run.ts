import { ProbeError } from '@picket/probes/connection/errors.ts';
import { warmUpDns } from '@picket/probes/dns/host/warm-up.ts';
import type { QueryControls } from '@picket/probes/dns/limits.ts';
import { type DnsReply, queryDns } from '@picket/probes/dns/query.ts';
import { type DnsServer, locateServer, serverText } from '@picket/probes/dns/server.ts';
import { queryName, reverseName } from '@picket/probes/dns/wire/name.ts';
import { type Failure, type FailureCode, failure } from '../contract/failure.ts';
import type { Measurement, Runner } from '../contract/outcome.ts';
import { measurementOf, toMicroseconds } from '../contract/outcome.ts';
import type { RunContext } from '../contract/run-context.ts';
import { probeFailure } from '../judging/probe-failure.ts';
import { type Diagnosed, undiagnosed, withDiagnosis } from '../runner/diagnosis.ts';
import { noEvidence } from '../runner/evidence.ts';
import { noLimits, type ProbeRun, probeRunner, type Reading } from '../runner/probe-runner.ts';
import { answerJson, answerText, storedAnswer } from './answer.ts';
import type { DnsDetail } from './detail.ts';
import { queryRepetition } from './diagnosed-query.ts';
import type { NamedServer } from './named-server.ts';
import { onServers } from './on-servers.ts';
import { type FilledRequest, fillRequest } from './request.ts';
import type { DnsSpec } from './spec.ts';
import { type OwnDetail, unknownDetail } from './unknown-detail.ts';

/** Timeout of one server, in milliseconds: twice the largest threshold. */
const answerTimeoutMs = 10_000;
/** Share of a run's time after which a malformed DNS response is final: the rest is for its diagnosis. */
const malformedShare = 0.6;

/** Makes the first run of a thread as fast as later ones. */
export const warmUp = warmUpDns;

/**
 * Failures that count as silence, which `shouldFail` requires. An unknown host name of the name server, a failed
 * handshake and a malformed response do not count, and failures of this location prove nothing.
 */
const silences: ReadonlySet<FailureCode> = new Set([
  'DNS_NO_ANSWER',
  'CONNECTION_REFUSED',
  'CONNECTION_RESET',
  'CONNECTION_TIMEOUT',
  'HOST_UNREACHABLE',
]);

/** Result of a query: a reply, or the reason for its absence. `server` is the one queried last. */
type Asked = Replied | Silent;

interface Replied {
  readonly reply: DnsReply;
  readonly server: DnsServer;
}

interface Silent {
  readonly failure: Failure;
  readonly server: DnsServer | undefined;
  readonly waitedMs?: number | undefined;
  /** Time of the failure. */
  readonly endMs: number;
}

type Run = ProbeRun<DnsSpec, FilledRequest>;

/** Runs a DNS monitor: sends a query to its name server, or to each of its name servers, and judges the response. */
export const runDns: Runner<DnsSpec, DnsDetail> = async (spec, context) =>
  spec.request.nameServers.length === 0
    ? await queryAlone(spec, context)
    : await onServers(spec, context, queryOnce);

/** Runs a query at one server. @param named that server; if absent, the one of the check or of the location. */
const queryOnce = (named: NamedServer | undefined) =>
  probeRunner({
    prepare: (spec: DnsSpec, context) => fillRequest(spec, context, named),
    unsent: (spec) => ({ ...unknownDetail(spec, {}), ...noEvidence }),
    hold: ({ spec, prepared, context, startMs }: Run) =>
      ask(spec, prepared, context, startMs + context.timeoutMs),
    read: (run, asked) => ('reply' in asked ? readReply(run, asked) : readSilence(run, asked)),
  });

const queryAlone = queryOnce(undefined);

/** Whether the check expects a server that does not respond. */
function isWelcome({ shouldFail }: DnsSpec, { failure: failed }: { readonly failure: Failure }): boolean {
  return shouldFail && silences.has(failed.code);
}

/** Without a response there is no kernel timestamp: the time is that of this process. */
const unanswered: Measurement = { clock: 'event', overheadMs: 0, lagMs: 0 };

async function ask(
  spec: DnsSpec,
  request: FilledRequest,
  context: RunContext,
  deadlineMs: number,
): Promise<Diagnosed<Asked>> {
  const { recordType: type, recordClass, protocol, recursionDesired, dnssecOk } = spec.request;
  const name = (type === 'PTR' ? reverseName(request.query) : undefined) ?? queryName(request.query);
  if (name === undefined) {
    const message = `${JSON.stringify(request.query)} is not a domain name`;
    const failed = { failure: failure('REQUEST_INVALID', message), server: undefined };
    return undiagnosed({ ...failed, endMs: performance.now() });
  }
  const question = { name, type, class: recordClass, recursionDesired, dnssecOk };
  const controls = () => ({
    signal: context.signal,
    timeoutMs: Math.min(answerTimeoutMs, deadlineMs - performance.now()),
  });
  const malformedAtMs = deadlineMs - context.timeoutMs * (1 - malformedShare);
  const { nameServer } = request;
  if (nameServer === null) {
    const refusal = context.egress.lookupRefusal(name);
    if (refusal !== undefined) {
      const failed = {
        failure: failure('EGRESS_DENIED', refusal.message, { egressRule: refusal.rule }),
        server: undefined,
      };
      return undiagnosed({ ...failed, endMs: performance.now() });
    }
    const result = await askHostServers(context, (server) =>
      // The check does not choose the location's own servers: the policy applies to the queried name.
      queryDns(question, server, { protocol }, { ...controls(), egress: { refusal: () => undefined } }),
    );
    return undiagnosed(result);
  }
  let server: DnsServer | undefined;
  const hold = async (onAttempt: QueryControls['onAttempt']): Promise<Asked> => {
    try {
      server = await locateServer(nameServer, context.resolver, controls());
      const means = { ...controls(), egress: context.egress, onAttempt, malformedAtMs };
      return { reply: await queryDns(question, server, { protocol }, means), server };
    } catch (thrown) {
      const waitedMs = thrown instanceof ProbeError ? thrown.waitedMs : undefined;
      return { failure: failureOf(thrown), server, waitedMs, endMs: performance.now() };
    }
  };
  return await withDiagnosis(
    {
      hold,
      failureOf: (asked) => ('reply' in asked || isWelcome(spec, asked) ? undefined : asked.failure),
      obstacleTo: () => (server ? undefined : 'the host name of the name server has no address'),
      isSeenHanging: false,
      repetition: ({ hostname, address, port }) =>
        queryRepetition(
          question,
          server ?? { hostname, address, port, family: address.includes(':') ? 6 : 4 },
          protocol,
        ),
    },
    { egress: context.egress, signal: context.signal, timeoutMs: deadlineMs - performance.now() },
    context,
  );
}

/** Codes of a server that could not resolve the name; the next server may succeed. */
const uncertainCodes: ReadonlySet<string> = new Set(['SERVFAIL', 'REFUSED', 'NOTIMP', 'FORMERR']);

/**
 * Queries the name servers of this location in order until one resolves the name. If none does, the last error code is
 * the result; if no server responds at all, the location is at fault.
 */
async function askHostServers(
  { resolver, log }: RunContext,
  query: (server: DnsServer) => Promise<DnsReply>,
): Promise<Asked> {
  const servers = resolver.nameServers?.() ?? [];
  let uncertain: Replied | undefined;
  let failed: Silent = {
    failure: failure('RESOLVER_FAILED', 'this location has no name server of its own'),
    server: undefined,
    endMs: performance.now(),
  };
  for (const server of servers) {
    try {
      const reply = await query(server);
      if (!uncertainCodes.has(reply.message.responseCode)) return { reply, server };
      uncertain = { reply, server };
      log.write('WARN', `${serverText(server)} answered ${reply.message.responseCode}`);
    } catch (thrown) {
      const own = failureOf(thrown);
      const isTargets = own.owner === 'target';
      failed = {
        failure: isTargets ? failure('RESOLVER_FAILED', own.message) : own,
        server,
        endMs: performance.now(),
      };
      if (own.code === 'RUN_ABORTED') return failed;
      log.write('WARN', own.message);
    }
  }
  return uncertain ?? failed;
}

function readReply({ spec, prepared: request }: Run, { reply, server }: Replied): Reading<OwnDetail> {
  const { message } = reply;
  const responseTimeMs = toMicroseconds(reply.elapsedMs);
  const json = answerJson(message);
  const text = answerText(message);
  const unknown = unknownDetail(spec, { request, server });
  const response = {
    ...unknown.response,
    returnCode: message.responseCode,
    responseTime: responseTimeMs,
    retriedOverTcp: reply.isRetriedOverTcp,
    ...storedAnswer(json, text),
  };
  return {
    measured: { measurement: measurementOf(reply.measurement), responseTimeMs },
    detail: { ...unknown, response },
    assertions: request.assertions,
    sources: {
      RESPONSE_CODE: () => ({ kind: 'value', value: message.responseCode }),
      // Assertions compare whole milliseconds; otherwise `EQUALS 12` could never hold.
      RESPONSE_TIME: () => ({ kind: 'value', value: Math.round(responseTimeMs) }),
      TEXT_ANSWER: () => ({ kind: 'text', text }),
      JSON_ANSWER: () => ({ kind: 'json', document: json }),
    },
    limits: spec,
    operationFailure: codeFailure(spec, message.responseCode),
  };
}

/**
 * Check model 1.5: any code but NOERROR fails, and with `shouldFail` NOERROR fails; an assertion on the code replaces
 * this rule.
 */
function codeFailure({ request, shouldFail }: DnsSpec, responseCode: string): Failure | undefined {
  if (request.assertions.some(({ source }) => source === 'RESPONSE_CODE')) return undefined;
  if ((responseCode !== 'NOERROR') === shouldFail) return undefined;
  const hint = shouldFail ? ' (the check expects an error)' : '';
  return failure('RESPONSE_CODE_UNEXPECTED', `Unexpected response code ${responseCode}${hint}`);
}

/** Without a usable response. With `shouldFail` the check may expect that; assertions must hold then as well. */
function readSilence({ spec, prepared: request, context, startMs }: Run, asked: Silent): Reading<OwnDetail> {
  const { failure: failed, server, waitedMs, endMs } = asked;
  const responseTimeMs = toMicroseconds(endMs - startMs);
  const detail = unknownDetail(spec, { request, server });
  if (!isWelcome(spec, asked)) {
    return {
      failure: failed,
      measured: { responseTimeMs, measurement: { ...unanswered, waitedMs } },
      detail,
    };
  }
  context.log.write('INFO', `As the check expects: ${failed.message}`);
  const nothing = () => ({ kind: 'unavailable', reason: `there is no response: ${failed.message}` }) as const;
  return {
    measured: { responseTimeMs, measurement: unanswered },
    detail,
    assertions: request.assertions,
    sources: { RESPONSE_CODE: nothing, RESPONSE_TIME: nothing, TEXT_ANSWER: nothing, JSON_ANSWER: nothing },
    limits: noLimits,
  };
}

/** @throws errors other than probe errors: they are bugs of ours. */
function failureOf(thrown: unknown): Failure {
  if (!(thrown instanceof ProbeError)) throw thrown;
  // UDP has no connection that could have been accepted: only the silence is known.
  if (thrown.kind === 'response-timeout') return failure('DNS_NO_ANSWER', thrown.message);
  return probeFailure(thrown);
}
