import { type Conclusion, shown } from '../conclusion.ts';
import { type AnalysisInput, impactOf } from '../run-view/case.ts';
import { companyItems, sentence } from './location.ts';

/** A server that answers and refuses: a login, a query, the time. */
export function refusedRequest(given: AnalysisInput): Conclusion | undefined {
  const { run, before } = given;
  if (run.code !== 'REQUEST_REFUSED') return undefined;
  const changed = before ? ` It did what the check asks at ${before.result.startedAt}.` : '';
  return {
    certainty: 'LIKELY',
    owner: 'target-or-check',
    classification: 'APPLICATION_ERROR',
    cause: `${given.target} is up, and refuses what the check asks. ${sentence(run.message)}${changed}`,
    impact: impactOf(given, 'Clients that ask for the same get the same answer.'),
    next: before
      ? 'Look in the log of the server at this time, and for changes of its users, rights and access rules.'
      : 'Compare the request of the check with the users, rights and access rules of the server.',
    evidence: [shown(run.message, 'error', ...run.files), ...companyItems(given)],
  };
}

/** A registration that was not renewed. */
export function endingRegistration(given: AnalysisInput): Conclusion | undefined {
  const { run } = given;
  if (run.code !== 'DOMAIN_EXPIRING' && run.code !== 'DOMAIN_NOT_REGISTERED') return undefined;
  const isGone = run.code === 'DOMAIN_NOT_REGISTERED';
  return {
    certainty: isGone ? 'LIKELY' : 'CERTAIN',
    owner: isGone ? 'target-or-check' : 'target',
    classification: 'CONFIGURATION_ERROR',
    cause: `${sentence(run.message)}${isGone ? ' It was never registered, or it was not renewed and is free again.' : ' It has not been renewed yet.'}`,
    impact: impactOf(
      given,
      'Without a registration, no name of the domain resolves: web, mail and everything else stop.',
    ),
    next: isGone
      ? 'Compare the domain of the check with the list of your registrar; if it is right, ask the registrar at once.'
      : 'Renew the domain at the registrar, and find out why it was not renewed automatically: a payment, an address, a lock.',
    evidence: [shown(run.message, 'error'), ...companyItems(given)],
  };
}
