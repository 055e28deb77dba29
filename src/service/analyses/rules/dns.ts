import { type Conclusion, shown } from '../conclusion.ts';
import { type AnalysisInput, impactOf } from '../run-view/case.ts';
import { quoted } from '../run-view/read.ts';
import { companyItems, companyOf, sentence } from './location.ts';

/** A name does not resolve. */
export function missingName(given: AnalysisInput): Conclusion | undefined {
  const { run, before } = given;
  if (run.code !== 'NAME_NOT_FOUND') return undefined;
  const name = run.host ?? given.target;
  const isThere = run.details.nameExists === true;
  const fact = isThere
    ? `The name ${name} exists and has no usable address.`
    : `The name ${name} does not exist, says the resolver of ${run.result.location}.`;
  const history = before
    ? ` It had one at ${before.result.startedAt}: the record was removed, or the domain is no longer served.`
    : ' The check has not passed before: the name may be misspelt.';
  return {
    certainty: 'CERTAIN',
    owner: before ? 'target' : 'target-or-check',
    classification: 'CONFIGURATION_ERROR',
    cause: `${fact}${history}`,
    impact: impactOf(given, 'Users cannot reach the target by this name.'),
    next: before
      ? 'Restore the record at the DNS provider, and check whether the registration of the domain has expired.'
      : 'Correct the name in the check, or create the record.',
    evidence: [
      shown(run.message, 'error', 'answer'),
      ...(before?.address ? [shown(`The last pass reached ${before.address}`, 'lastPass')] : []),
      ...companyItems(given),
    ],
  };
}

/** The resolver of the location did not reply. */
export function failingResolver(given: AnalysisInput): Conclusion | undefined {
  const { run } = given;
  if (run.code !== 'RESOLVER_FAILED') return undefined;
  const { location } = run.result;
  const here = companyOf(given, 'location');
  const isAlone = here !== undefined && here.checks > 2 && here.failing === 0;
  const isServerFailure = run.details.responseCode !== undefined;
  const fact = `The resolver of ${location} gave no address. ${sentence(run.message)}`;
  const why = isServerFailure
    ? ' It could not resolve the name, so the target was not tested. A working resolver responds this way, too, if the name servers of the domain fail.'
    : ' It did not respond: it or its network is down.';
  return {
    certainty: isServerFailure ? 'LIKELY' : 'CERTAIN',
    owner: 'location',
    classification: 'INFRASTRUCTURE_ERROR',
    cause: `${fact}${why}${isAlone ? ` The other ${here.checks} checks of ${location} pass, so the resolver works for their names.` : ''}`,
    impact: impactOf(
      given,
      'Users of the same resolver cannot reach the target by name; the target itself was not tested.',
    ),
    next: isServerFailure
      ? 'Query another resolver, then the name servers of the domain: if they fail as well (no response, or invalid DNSSEC signatures), repair the domain.'
      : `Look at the name servers in the resolv.conf of the agents at ${location}.`,
    evidence: [shown(run.message, 'error', ...run.files), ...companyItems(given)],
  };
}

/** A DNS monitor whose name server does not reply. */
export function silentNameServer(given: AnalysisInput): Conclusion | undefined {
  const { run, before } = given;
  if (run.code !== 'DNS_NO_ANSWER') return undefined;
  const server = run.dns?.server ?? given.target;
  return {
    certainty: 'CERTAIN',
    owner: 'path',
    classification: 'INFRASTRUCTURE_ERROR',
    cause: `The name server ${server} did not respond in time${before ? `; it did at ${before.result.startedAt}` : ''}. Either it is down, or a firewall drops the queries.`,
    impact: impactOf(given, 'Names that only this server hosts cannot be resolved.'),
    next: `Check that ${server} is up and that firewalls allow DNS over UDP and TCP.`,
    evidence: [shown(run.message, 'error', ...run.files), ...companyItems(given)],
  };
}

const codeWords: Readonly<Record<string, string>> = {
  NXDOMAIN: 'the name does not exist',
  SERVFAIL:
    'it could not resolve the name, usually because the name servers of the domain fail or its DNSSEC signatures are invalid',
  REFUSED: 'it does not allow this query from this client',
  FORMERR: 'it did not understand the query',
  NOTIMP: 'it does not support this kind of query',
};

/** A DNS monitor received an unexpected response code. */
export function responseCode(given: AnalysisInput): Conclusion | undefined {
  const { run, before } = given;
  const { dns } = run;
  if (!dns) return undefined;
  const isJudged = run.code === 'ASSERTION_FAILED' && failed(given, 'RESPONSE_CODE');
  if (run.code !== 'RESPONSE_CODE_UNEXPECTED' && !isJudged) return undefined;
  const code = dns.returnCode;
  const words = codeWords[code];
  const isGood = code === 'NOERROR';
  return {
    certainty: 'CERTAIN',
    owner: isGood ? 'target-or-check' : 'target',
    classification:
      code === 'SERVFAIL' || code === 'REFUSED' ? 'INFRASTRUCTURE_ERROR' : 'CONFIGURATION_ERROR',
    cause: `${dns.server ?? 'The resolver'} answers ${code} for ${dns.query} ${dns.recordType}${words ? `: ${words}` : ''}.${before?.dns ? ` It answered ${before.dns.returnCode} at ${before.result.startedAt}.` : ''}`,
    impact: impactOf(
      given,
      isGood
        ? 'The name resolves, but the check expects that it does not.'
        : 'Clients of this name server cannot resolve the name.',
    ),
    next: isGood
      ? 'Remove the record, or change the expectation of the check.'
      : 'Look at the zone of the domain and at its delegation.',
    evidence: [shown(`The answer: ${code}`, 'answer', ...run.files), ...companyItems(given)],
  };
}

/** A DNS monitor whose answer differs from before. */
export function changedAnswer(given: AnalysisInput): Conclusion | undefined {
  const { run, before } = given;
  const { dns } = run;
  if (!dns || run.code !== 'ASSERTION_FAILED') return undefined;
  if (!failed(given, 'TEXT_ANSWER') && !failed(given, 'JSON_ANSWER')) return undefined;
  const earlier = before?.dns?.answer;
  const isChanged = earlier !== undefined && earlier !== dns.answer;
  const now = dns.answer === '' ? 'nothing' : quoted(dns.answer);
  return {
    certainty: isChanged ? 'CERTAIN' : 'OPEN',
    owner: isChanged ? 'target' : 'open',
    classification: isChanged ? 'CONFIGURATION_ERROR' : 'UNKNOWN',
    cause: isChanged
      ? `The record of ${dns.query} ${dns.recordType} has changed: it is ${now}, and was ${earlier === '' ? 'nothing' : quoted(earlier)} at ${before?.result.startedAt}.`
      : `${dns.query} ${dns.recordType} is ${now}, which the check does not expect; its earlier value is unknown.`,
    impact: impactOf(given, 'Clients that resolve the name get another answer than the check expects.'),
    next: 'If the change is intended, change the expectation of the check; otherwise restore the record.',
    evidence: [
      shown(`The answer: ${now}`, 'answer', 'assertions'),
      ...(isChanged ? [shown('The answer before', 'lastPass')] : []),
    ],
  };
}

function failed({ run }: AnalysisInput, source: string): boolean {
  return run.assertions.some((one) => one.failed && one.source === source);
}
