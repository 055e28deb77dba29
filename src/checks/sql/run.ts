import { beginningOf } from '@picket/lib/text.ts';
import { type StartTlsProtocol, startTls } from '@picket/probes/connection/start-tls.ts';
import type { SqlProbeRequest, SqlProbeResult } from '@picket/probes/sql/probe.ts';
import { type Failure, type FailureCode, failure } from '../contract/failure.ts';
import { familyName } from '../contract/ip-family.ts';
import { measurementOf, timesToMicroseconds, toMicroseconds } from '../contract/outcome.ts';
import type { RunContext } from '../contract/run-context.ts';
import { certificateDetail, expiryOf } from '../http/certificate.ts';
import { socksProxy } from '../http/location-proxy.ts';
import { filledAssertions, filledHostname, filledServerName } from '../judging/filled.ts';
import { probeFailure } from '../judging/probe-failure.ts';
import { render } from '../judging/templating.ts';
import { logFamily, wantedFamily } from '../judging/wanted-family.ts';
import { withConnectionDiagnosis } from '../runner/diagnosed-connection.ts';
import { noEvidence } from '../runner/evidence.ts';
import { noLimits, type ProbeRun, probeRunner, type Reading } from '../runner/probe-runner.ts';
import type { SqlDetail } from './detail.ts';
import { codesOf } from './refusal-codes.ts';
import { refusalReason } from './refusal-reason.ts';
import { type SqlEngine, type SqlSpec, sqlPorts } from './spec.ts';

type Run = ProbeRun<SqlSpec, Exclude<ReturnType<typeof prepare>, { failure: Failure }>>;
type OwnDetail = Pick<SqlDetail, 'request' | 'response'>;

const maxTextLength = 1000;
/** How a connection for evidence asks for TLS. */
const upgrades: Readonly<Record<SqlEngine, StartTlsProtocol>> = { POSTGRESQL: 'postgres', MYSQL: 'mysql' };

/** Failures that `shouldFail` expects: the server refuses, or cannot be reached. */
const welcomeCodes: ReadonlySet<FailureCode> = new Set([
  'REQUEST_REFUSED',
  'CONNECTION_REFUSED',
  'CONNECTION_RESET',
  'CONNECTION_TIMEOUT',
  'HOST_UNREACHABLE',
]);

/** Runs an SQL monitor: connects, logs in, runs one query, and judges its answer. */
export const runSql = probeRunner({
  prepare,
  unsent: ({ request }: SqlSpec) => ({ request: requestOf(request, request), response: null, ...noEvidence }),
  hold: async ({ spec, prepared: { request }, controls, context }: Run) => {
    // Agents without SQL monitors never load the driver.
    const { probeSql } = await import('@picket/probes/sql/probe.ts');
    return await withConnectionDiagnosis<SqlProbeResult>(
      {
        proxy: request.proxy,
        hold: (onAttempt) => probeSql(request, { ...controls, onAttempt }),
        failureOf: (result) => {
          const failed = result.error && probeFailure(result.error);
          return failed && !isWelcome(spec, failed) ? failed : undefined;
        },
        target: () => ({
          family: request.family,
          serverName: request.tls?.serverName,
          isCertificateChecked: request.tls?.isCertificateChecked ?? true,
          clientIdentity: undefined,
          alpnProtocols: [],
          upgrade:
            request.tls && startTls(upgrades[request.engine], request.tls.serverName ?? request.hostname),
        }),
      },
      controls,
      context,
    );
  },
  read,
});

function prepare({ request: spec }: SqlSpec, context: RunContext) {
  const { variables, log } = context;
  const named = filledHostname(spec.hostname, variables);
  if ('failure' in named) return named;
  const secure = filledServerName(spec.serverName, variables);
  if ('failure' in secure) return secure;
  const located = socksProxy(context);
  if ('failure' in located) return located;
  const filled = (text: string) => render(text, variables, 'raw');
  const username = filled(spec.username);
  if (username === '') return { failure: failure('REQUEST_INVALID', 'the user name is empty') };
  const query = filled(spec.query);
  if ([username, filled(spec.password), filled(spec.database), query].some((text) => text.includes('\0'))) {
    return { failure: failure('REQUEST_INVALID', 'the login and the query must not contain NUL characters') };
  }
  const request: SqlProbeRequest = {
    ...named,
    engine: spec.engine,
    port: portOf(spec),
    family: wantedFamily(spec.ipFamily, log),
    proxy: located.proxy,
    tls: spec.useSSL ? { serverName: secure.serverName, isCertificateChecked: !spec.skipSSL } : undefined,
    query: {
      username,
      password: filled(spec.password),
      database: filled(spec.database),
      text: query,
      isReadOnly: spec.readOnly,
      statementTimeoutMs: spec.statementTimeoutMs,
    },
  };
  return { request, assertions: filledAssertions(spec.assertions, variables) };
}

function isWelcome({ shouldFail }: SqlSpec, { code }: Failure): boolean {
  return shouldFail && welcomeCodes.has(code);
}

function failureIn({ error, refusal }: SqlProbeResult): Failure | undefined {
  if (error) return probeFailure(error);
  if (!refusal) return undefined;
  const { step, message } = refusal;
  const reason = refusalReason(refusal);
  return failure(
    'REQUEST_REFUSED',
    `The server refuses the ${step}: ${message} [${codesOf(refusal)}]`,
    reason && { refusalReason: reason },
  );
}

function read({ spec, prepared, context }: Run, result: SqlProbeResult): Reading<OwnDetail> {
  const { request, assertions } = prepared;
  logFamily(request.hostname, result.address, request.family, context.log);
  const responseTimeMs = toMicroseconds(result.phases.total);
  const measured = {
    ...{ measurement: measurementOf(result.measurement), responseTimeMs },
    ...expiryOf(result.certificate),
  };
  const detail = detailOf(spec, request, result);
  const failed = failureIn(result);
  if (failed && !isWelcome(spec, failed)) return { failure: failed, measured, detail };
  if (failed) context.log.write('INFO', `As the check expects: ${failed.message}`);
  const { answer } = result;
  const nothing = { kind: 'unavailable', reason: 'there is no answer to the query' } as const;
  const value = (found: unknown) => () => (answer ? ({ kind: 'value', value: found } as const) : nothing);
  return {
    measured,
    detail,
    requestError: failed?.message ?? null,
    assertions,
    sources: {
      VALUE: value(answer?.value),
      ROW_COUNT: value(answer?.rowCount),
      RESPONSE_TIME: () => ({ kind: 'value', value: Math.round(responseTimeMs) }),
      QUERY_TIME: value(Math.round(result.phases.query)),
    },
    limits: failed ? noLimits : spec,
    operationFailure:
      spec.shouldFail && !failed
        ? failure('REPLY_UNEXPECTED', 'The server ran the query, which it should not')
        : undefined,
  };
}

function requestOf(
  spec: SqlSpec['request'],
  filled: {
    readonly hostname: string;
    readonly database: string;
    readonly username: string;
    readonly query: string;
  },
): SqlDetail['request'] {
  const { engine, useSSL, ipFamily, readOnly } = spec;
  const { hostname, username, query } = filled;
  return {
    engine,
    hostname,
    port: portOf(spec),
    database: filled.database || (engine === 'POSTGRESQL' ? username : ''),
    username,
    useSSL,
    ipFamily,
    query: beginningOf(query, maxTextLength),
    readOnly,
  };
}

function portOf({ engine, port }: SqlSpec['request']): number {
  return port ?? sqlPorts[engine];
}

function detailOf(spec: SqlSpec, request: SqlProbeRequest, result: SqlProbeResult): OwnDetail {
  const { answer, refusal, serverVersion, phases, certificate, address, error } = result;
  const { hostname, query } = request;
  const { username, database, text } = query;
  const isConnected = !error || phases.connection > 0;
  return {
    request: requestOf(spec.request, { hostname, username, database, query: text }),
    response: isConnected
      ? {
          answer: answer
            ? {
                value:
                  typeof answer.value === 'string' ? beginningOf(answer.value, maxTextLength) : answer.value,
                rowCount: answer.rowCount,
                truncated: answer.isCut,
                columns: [...answer.columns],
              }
            : null,
          refusal: refusal ? { ...refusal, message: beginningOf(refusal.message, maxTextLength) } : null,
          serverVersion,
          certificate: certificateDetail(certificate),
          timingPhases: timesToMicroseconds({ ...phases }),
          ipAddress: address,
          ipFamily: familyName(address),
        }
      : null,
  };
}
