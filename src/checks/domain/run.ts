import { daysLeft } from '@picket/lib/figures/days-left.ts';
import { type Failure, failure } from '../contract/failure.ts';
import { toMicroseconds } from '../contract/outcome.ts';
import type { RunContext } from '../contract/run-context.ts';
import { locationProxy } from '../http/location-proxy.ts';
import { filledAssertions } from '../judging/filled.ts';
import { render } from '../judging/templating.ts';
import { noLimits, type ProbeRun, probeRunner, type Reading } from '../runner/probe-runner.ts';
import type { DomainDetail } from './detail.ts';
import { type Looked, lookUp } from './lookup.ts';
import { parseDomain } from './parse-domain.ts';
import type { DomainSpec } from './spec.ts';
import { judgeRegistration } from './verdict.ts';

type Run = ProbeRun<DomainSpec, Exclude<ReturnType<typeof prepare>, { failure: Failure }>>;
type OwnDetail = Pick<DomainDetail, 'request' | 'response' | 'degradedReasons'>;

/** Runs a domain monitor: asks the registry when the registration expires. */
export const runDomain = probeRunner({
  prepare,
  unsent: ({ request }: DomainSpec) => ({
    request: { domain: request.domain, url: null },
    response: null,
    degradedReasons: [],
  }),
  hold: async ({ prepared, controls, context }: Run) => ({
    result: await lookUp(prepared, { controls, proxy: prepared.proxy }, context.log),
    evidence: {},
    diagnosisMs: 0,
  }),
  read,
});

function prepare({ request }: DomainSpec, context: RunContext) {
  const { variables } = context;
  const written = render(request.domain, variables, 'raw');
  const domain = parseDomain(written);
  if (domain === undefined) {
    return { failure: failure('HOST_INVALID', `${JSON.stringify(written)} is not a registered domain`) };
  }
  const server = request.rdapServer === null ? null : httpUrl(render(request.rdapServer, variables, 'url'));
  const directory = httpUrl(render(request.rdapDirectory, variables, 'url'));
  if (server === undefined) return { failure: notAUrl('rdapServer') };
  if (directory === undefined) return { failure: notAUrl('rdapDirectory') };
  const located = locationProxy(context);
  if ('failure' in located) return located;
  const assertions = filledAssertions(request.assertions, variables);
  return { domain, server, directory, proxy: located.proxy, assertions };
}

function httpUrl(text: string): URL | undefined {
  const url = URL.parse(text.trim());
  return url && /^https?:$/.test(url.protocol) && url.hostname !== '' ? url : undefined;
}

function notAUrl(field: string): Failure {
  return failure('URL_INVALID', `${field} is not an http or https URL once its templates are filled in`);
}

function read({ spec, prepared }: Run, looked: Looked): Reading<OwnDetail> {
  const nowMs = Date.now();
  const responseTimeMs = toMicroseconds(looked.elapsedMs);
  const measured = { measurement: looked.measurement, responseTimeMs };
  const detail = { ...detailOf(prepared.domain, looked, nowMs), degradedReasons: [] };
  if (looked.failure) return { failure: looked.failure, measured, detail };
  const { registration = null } = looked;
  const { response } = detail;
  const unregistered = failure('DOMAIN_NOT_REGISTERED', notRegistered(prepared.domain));
  if (!registration && !spec.shouldFail) return { failure: unregistered, measured, detail };
  const { failure: failed, degradedReasons } =
    registration && !spec.shouldFail
      ? judgeRegistration(registration, spec.request, nowMs)
      : { failure: registration ? unexpected(prepared.domain) : undefined, degradedReasons: [] };
  const isUnpublished = failed?.code === 'DOMAIN_EXPIRY_UNPUBLISHED';
  if (failed && isUnpublished) return { failure: failed, measured, detail };
  const value = (found: unknown) => () => ({ kind: 'value', value: found }) as const;
  return {
    measured,
    detail: { ...detail, degradedReasons },
    requestError: null,
    assertions: prepared.assertions,
    sources: {
      DAYS_UNTIL_EXPIRY: value(response?.daysUntilExpiry ?? null),
      REGISTRAR: value(registration?.registrar ?? null),
      STATUS: value(registration?.statuses ?? []),
      NAME_SERVERS: value(registration?.nameServers ?? []),
      RESPONSE_TIME: value(Math.round(responseTimeMs)),
      JSON_RESPONSE: () => ({ kind: 'json', document: registration }),
    },
    limits: looked.answeredMs === undefined ? spec : noLimits,
    operationFailure: failed,
    ...(degradedReasons.length > 0 && { degradedReasons }),
  };
}

function notRegistered(domain: string): string {
  const hint =
    domain.split('.').length > 2 ? '. Registries know registered domains, not the hosts in them' : '';
  return `The registry does not know ${domain}${hint}`;
}

function unexpected(domain: string): Failure {
  return failure('REPLY_UNEXPECTED', `${domain} is registered, which the check does not expect`);
}

function detailOf(
  domain: string,
  { url, status, source, answeredMs, registration }: Looked,
  nowMs: number,
): Pick<DomainDetail, 'request' | 'response'> {
  const expiresAt = registration?.expiresAt ?? null;
  return {
    request: { domain, url },
    response:
      status === undefined || registration === undefined
        ? null
        : {
            ...{ status, source, registration },
            answeredAt: answeredMs === undefined ? null : new Date(answeredMs).toISOString(),
            daysUntilExpiry: expiresAt === null ? null : daysLeft(Date.parse(expiresAt), nowMs),
          },
  };
}
