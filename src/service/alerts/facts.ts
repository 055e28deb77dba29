import { hostOf, noFacts } from '@picket/checks/contract/facts.ts';
import { findCheckType } from '@picket/checks/index.ts';
import { storedFacts } from '@picket/platform/store/details/run-facts.ts';
import { storedValue } from '@picket/platform/store/stored-json.ts';
import type { RootCauseAnalysis } from '@picket/protocol/results/root-cause-analysis.ts';
import type { Check } from '../checks/store.ts';
import type { CauseSummary } from './causes/summary.ts';
import type { EndReason } from './receivers/end-reason.ts';
import type { ResultFlags } from './run-verdict.ts';
import type { Suppression } from './state.ts';

const messagesOf = storedValue<readonly string[]>('results.error_messages', []);

/** Columns of a stored result that alerts read. */
export interface AlertedResult extends ResultFlags {
  readonly id: string;
  readonly check_id: string;
  readonly check_type: string;
  readonly slot_at: number;
  readonly run_location: string;
  readonly response_time: number;
  readonly started: number;
  /** Party at fault for the failure (`FailureOwner`); null without a failure. */
  readonly owner: string | null;
  readonly code: string | null;
  readonly message: string | null;
  /** `FailureDetails` as JSON; null if the agent reported none. */
  readonly failure_details: string | null;
  readonly error_messages: string;
  readonly detail: string | null;
}

/** Content of an alert, kept as it was when the alert was created. Times in epoch milliseconds. */
export interface AlertFacts {
  readonly checkName: string;
  readonly checkType: string;
  readonly checkDescription: string | null;
  readonly groupName: string | null;
  readonly tags: readonly string[];
  readonly runLocation: string | null;
  readonly responseTimeMs: number | null;
  readonly error: string | null;
  /** Status of the response, if the check type has one. */
  readonly statusCode: number | null;
  readonly statusText: string | null;
  readonly startedAt: number | null;
  /** 0, or the number of the reminder. */
  readonly reminder: number;
  /** For a recovery: the worst state that was notified. */
  readonly recoversFrom: 'failure' | 'degraded' | 'gap' | null;
  readonly certificate: {
    readonly domain: string;
    readonly daysRemaining: number;
    readonly expiresAt: number;
  } | null;
  /** Target of the check, without potential secrets. Absent in alerts that an older build stored. */
  readonly target?: string | null;
  /** When the subject of the alert began. Also absent there. */
  readonly since?: number | null;
  /** Party at fault (`FailureOwner`). Also absent there. */
  readonly owner?: string | null;
  /** Failure code. Also absent there. */
  readonly code?: string | null;
  /** Locations where a parallel run did not pass. Absent for runs at one location, and in older alerts. */
  readonly locations?: readonly string[];
  /** Cause shared with other checks. Never stored: looked up for each notification. */
  readonly cause?: CauseSummary | undefined;
  /** Analysis of the cause of its error. Never stored: looked up for each notification. */
  readonly analysis?:
    | (RootCauseAnalysis['analysis'] & Partial<Pick<RootCauseAnalysis, 'fromModel'>>)
    | undefined;
  /** Subject, if it is not a check. Absent in alerts that an older build stored. */
  readonly subject?: 'location' | 'sickness' | 'outdated' | 'gap' | 'slo' | 'test';
  /** Silence that suppressed the notification. */
  readonly silenceId?: string | undefined;
  /** Suppression that held it back until it was sent; absent if it was never held back. */
  readonly heldBy?: Suppression;
  /** Why a receiver is sent an end although no recovery was notified; see receivers/close-lost.ts. */
  readonly endedBy?: EndReason;
  /** For a gap, a burn or a certificate: number of checks, and the names of the first. */
  readonly members?: { readonly count: number; readonly names: readonly string[] };
  /** Whether the check flaps; absent: it does not. */
  readonly isFlapping?: boolean;
}

/** Defaults for facts that an alert lacks. */
export const unknownFacts: AlertFacts = {
  checkName: '',
  checkType: '',
  checkDescription: null,
  groupName: null,
  tags: [],
  runLocation: null,
  responseTimeMs: null,
  error: null,
  statusCode: null,
  statusText: null,
  startedAt: null,
  reminder: 0,
  recoversFrom: null,
  certificate: null,
};

/** Whether an alert is about a check, rather than a location or a test. */
export function isOfCheck({ subject }: Pick<AlertFacts, 'subject'>): boolean {
  return subject === undefined || subject === 'gap';
}

/** Long messages are cut: receivers show one line, and the result has the full text. */
const maxErrorLength = 4_000;

/** Facts of a check and of the result that caused the alert. */
export function factsOf(
  check: Check,
  result: AlertedResult | undefined,
  extra: Partial<
    Pick<
      AlertFacts,
      | 'groupName'
      | 'reminder'
      | 'recoversFrom'
      | 'certificate'
      | 'since'
      | 'locations'
      | 'silenceId'
      | 'heldBy'
      | 'isFlapping'
    >
  >,
): AlertFacts {
  const { description, tags } = check.definition;
  return {
    checkName: check.name,
    checkType: check.checkType,
    checkDescription: typeof description === 'string' ? description : null,
    tags: Array.isArray(tags) ? tags.map(String) : [],
    runLocation: result?.run_location ?? null,
    responseTimeMs: result?.response_time ?? null,
    error: result ? errorOf(result) : null,
    owner: result?.owner ?? null,
    code: result?.code ?? null,
    ...statusOf(result),
    startedAt: result?.started ?? null,
    target: targetOf(check),
    groupName: null,
    reminder: 0,
    recoversFrom: null,
    certificate: null,
    ...extra,
  };
}

/** Target of a check: a URL without credentials, query and fragment, or a host, or a name. */
function targetOf(check: Check): string | null {
  const { request } = check.definition as {
    request?: { url?: unknown; hostname?: unknown; port?: unknown; query?: unknown; recordType?: unknown };
  };
  const { url, query, recordType } = request ?? {};
  const endpoint = endpointOf(check);
  const { hostname, port } = endpoint ?? request ?? {};
  if (typeof url === 'string' && !endpoint) {
    return url.replace(/[?#].*$/s, '').replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/]*@/i, '$1');
  }
  if (typeof hostname === 'string') return typeof port === 'number' ? `${hostname}:${port}` : hostname;
  if (typeof query !== 'string') return null;
  return typeof recordType === 'string' ? `${query} (${recordType})` : query;
}

/** Host in the definition of a check, in the form of `parseHostname`. */
export function hostOfCheck(check: Check): string | null {
  const { request } = check.definition as { request?: { url?: unknown; hostname?: unknown } };
  const named = endpointOf(check)?.hostname ?? request?.url ?? request?.hostname;
  return typeof named === 'string' ? hostOf(named) : null;
}

/** Domain of the certificate that a check sees: the one it names for that, or the host of its request. */
export function certificateDomain(check: Check): string {
  const { sslCheckDomain, request } = check.definition as {
    sslCheckDomain?: unknown;
    request?: { url?: unknown; hostname?: unknown };
  };
  if (typeof sslCheckDomain === 'string' && sslCheckDomain !== '') return sslCheckDomain;
  const url = typeof request?.url === 'string' ? request.url : '';
  if (URL.canParse(url)) return new URL(url).hostname;
  const hostname = endpointOf(check)?.hostname ?? request?.hostname;
  return typeof hostname === 'string' ? hostname : check.name;
}

/** Endpoint of a check whose type provides one. */
function endpointOf({ checkType, definition }: Check): { hostname: string; port: number | null } | undefined {
  const type = findCheckType(checkType);
  const spec = type?.endpoint ? type.spec.safeParse(definition) : undefined;
  return spec?.success ? type?.endpoint?.(spec.data) : undefined;
}

function errorOf(result: AlertedResult): string | null {
  const [first] = messagesOf(result.error_messages);
  const text = result.message ?? first ?? null;
  return text === null || text.length <= maxErrorLength ? text : `${text.slice(0, maxErrorLength)}…`;
}

function statusOf(result: AlertedResult | undefined): Pick<AlertFacts, 'statusCode' | 'statusText'> {
  const { status, statusText } = result ? storedFacts(result.check_type, result.detail) : noFacts;
  return { statusCode: status, statusText };
}
