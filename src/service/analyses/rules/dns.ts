import { type Conclusion, shown } from '../conclusion.ts';
import { type Case, impactOf } from '../seen/case.ts';
import { quoted } from '../seen/read.ts';
import { companyItems, companyOf, sentence } from './location.ts';

/** A name that leads nowhere. */
export function missingName(given: Case): Conclusion | undefined {
  const { run, before } = given;
  if (run.code !== 'NAME_NOT_FOUND') return undefined;
  const name = run.host ?? given.target;
  const isThere = run.details.nameExists === true;
  const fact = isThere
    ? `The name ${name} exists and has no address that could be used.`
    : `The name ${name} does not exist, says the resolver of ${run.result.location}.`;
  const history = before
    ? ` It had one at ${before.result.startedAt}: its record was removed, or its domain is not served any more.`
    : ' The check has not passed before: the name may be misspelt.';
  return {
    certainty: 'CERTAIN',
    owner: before ? 'target' : 'target-or-check',
    classification: 'CONFIGURATION_ERROR',
    cause: `${fact}${history}`,
    impact: impactOf(given, 'Nobody who asks for the name gets to the target.'),
    next: before
      ? 'Restore the record at the provider of the domain, and see whether the registration of the domain has run out.'
      : 'Correct the name in the check, or make its record.',
    evidence: [
      shown(run.message, 'error', 'answer'),
      ...(before?.address ? [shown(`The last pass reached ${before.address}`, 'lastPass')] : []),
      ...companyItems(given),
    ],
  };
}

/** The resolver of the location gave no answer. */
export function failingResolver(given: Case): Conclusion | undefined {
  const { run } = given;
  if (run.code !== 'RESOLVER_FAILED') return undefined;
  const { location } = run.result;
  const here = companyOf(given, 'location');
  const isAlone = here !== undefined && here.checks > 2 && here.failing === 0;
  const isServerFailure = run.details.responseCode !== undefined;
  const fact = `The resolver of ${location} gave no address. ${sentence(run.message)}`;
  const why = isServerFailure
    ? ' It answered that it could not find out, so nothing is known of the target. A resolver that works says so, too, where it gets no answer for the domain that it may use.'
    : ' It was silent: it is down, or its network is.';
  return {
    certainty: isServerFailure ? 'LIKELY' : 'CERTAIN',
    owner: 'location',
    classification: 'INFRASTRUCTURE_ERROR',
    cause: `${fact}${why}${isAlone ? ` The other ${here.checks} checks of ${location} pass, so their names are resolved.` : ''}`,
    impact: impactOf(
      given,
      'Users of the same resolver do not find the target; nothing is known of the target itself.',
    ),
    next: isServerFailure
      ? 'Ask another resolver, then the name servers of the domain: where they fail as well (no answer, or signatures of DNSSEC that do not fit), the domain has to be put in order.'
      : `Look at the name servers in the resolv.conf of the agents at ${location}.`,
    evidence: [shown(run.message, 'error', ...run.files), ...companyItems(given)],
  };
}

/** A DNS monitor whose name server does not answer. */
export function silentNameServer(given: Case): Conclusion | undefined {
  const { run, before } = given;
  if (run.code !== 'DNS_NO_ANSWER') return undefined;
  const server = run.dns?.server ?? given.target;
  return {
    certainty: 'CERTAIN',
    owner: 'path',
    classification: 'INFRASTRUCTURE_ERROR',
    cause: `The name server ${server} did not answer in time${before ? `; it did at ${before.result.startedAt}` : ''}. Whether it is down or a firewall drops the question, silence does not tell.`,
    impact: impactOf(given, 'Names that only this server knows are not found.'),
    next: `See whether ${server} runs and lets UDP and TCP of DNS through.`,
    evidence: [shown(run.message, 'error', ...run.files), ...companyItems(given)],
  };
}

const codeWords: Readonly<Record<string, string>> = {
  NXDOMAIN: 'the name does not exist',
  SERVFAIL:
    'it could not find out, mostly because the servers of the domain fail or their signatures do not fit',
  REFUSED: 'it does not answer such questions of this client',
  FORMERR: 'it did not understand the question',
  NOTIMP: 'it cannot answer such questions',
};

/** A DNS monitor with an answer that says no. */
export function responseCode(given: Case): Conclusion | undefined {
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
        ? 'The name answers, and the check expects that it does not.'
        : 'Nobody who asks this server finds the name.',
    ),
    next: isGood
      ? 'Remove the record, or change what the check expects.'
      : 'Look at the zone of the domain and at the servers it is delegated to.',
    evidence: [shown(`The answer: ${code}`, 'answer', ...run.files), ...companyItems(given)],
  };
}

/** A DNS monitor whose answer is another one than before. */
export function changedAnswer(given: Case): Conclusion | undefined {
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
      : `${dns.query} ${dns.recordType} is ${now}, which is not what the check expects; what it was before is not known.`,
    impact: impactOf(given, 'Who asks for the name is led elsewhere than the check expects.'),
    next: 'If the change was meant, change what the check expects; else restore the record.',
    evidence: [
      shown(`The answer: ${now}`, 'answer', 'assertions'),
      ...(isChanged ? [shown('The answer before', 'lastPass')] : []),
    ],
  };
}

function failed({ run }: Case, source: string): boolean {
  return run.assertions.some((one) => one.failed && one.source === source);
}
