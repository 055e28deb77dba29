import type { RefusalReason } from '@picket/checks/contract/failure-details.ts';
import type { CauseOwner } from '../cause-owner.ts';
import { type Classification, type Conclusion, shown } from '../conclusion.ts';
import { type AnalysisInput, impactOf } from '../run-view/case.ts';
import { companyItems, sentence } from './location.ts';

/** Conclusion from the reason that the codes of a database name. */
interface Refused {
  readonly classification: Classification;
  readonly owner: CauseOwner;
  readonly impact: string;
  readonly next: string;
}

const sameClients = 'Clients that ask for the same get the same answer.';

const refusals: Readonly<Record<RefusalReason, Refused>> = {
  CREDENTIALS: {
    classification: 'CONFIGURATION_ERROR',
    owner: 'target-or-check',
    impact: 'Clients with the same user and password are refused; others may not be affected.',
    next: 'Compare user and password of the check with those of the server: they were changed, have expired, or the user is locked.',
  },
  ACCESS: {
    classification: 'CONFIGURATION_ERROR',
    owner: 'target-or-check',
    impact: 'Clients with the same user, or from the same addresses, are refused.',
    next: 'Look at the rights of the user, and at the rules for addresses (pg_hba.conf, or the host of the user at MySQL).',
  },
  DATABASE: {
    classification: 'CONFIGURATION_ERROR',
    owner: 'target-or-check',
    impact: 'Clients of this database find none.',
    next: 'Look whether the database was renamed, removed or not restored, or correct its name in the check.',
  },
  CAPACITY: {
    classification: 'APPLICATION_ERROR',
    owner: 'target',
    impact: 'New clients get no connection, while those that have one keep it.',
    next: 'List the connections of the server: a client that never closes them, or a limit that has become too low.',
  },
  TIME: {
    classification: 'PERFORMANCE_ERROR',
    owner: 'target',
    impact: 'Other clients wait, too, if they read the same tables.',
    next: 'Look for locks and running queries of the server, and at the plan of the query.',
  },
  READ_ONLY: {
    classification: 'CONFIGURATION_ERROR',
    owner: 'target-or-check',
    impact: 'Clients that write are refused, if the server itself is read only.',
    next: 'A check that has to write needs readOnly: false; a server that is read only may be a replica, or out of space.',
  },
  STARTING: {
    classification: 'APPLICATION_ERROR',
    owner: 'target',
    impact: 'No client gets an answer until the server has started.',
    next: 'Look in the log of the server why it starts or stops, and how far its recovery is.',
  },
};

/** A server that answers and refuses: a login, a query, the time. */
export function refusedRequest(given: AnalysisInput): Conclusion | undefined {
  const { run, before } = given;
  if (run.code !== 'REQUEST_REFUSED') return undefined;
  const changed = before ? ` It did what the check asks at ${before.result.startedAt}.` : '';
  const { refusalReason: reason } = run.details;
  const refused: Refused = reason
    ? refusals[reason]
    : {
        owner: 'target-or-check',
        classification: 'APPLICATION_ERROR',
        impact: sameClients,
        next: before
          ? 'Look in the log of the server at this time, and for changes of its users, rights and access rules.'
          : 'Compare the request of the check with the users, rights and access rules of the server.',
      };
  return {
    ...refused,
    // A query may also be cancelled by a person.
    certainty: reason && reason !== 'TIME' ? 'CERTAIN' : 'LIKELY',
    cause: `${given.target} is up, and refuses what the check asks. ${sentence(run.message)}${changed}`,
    impact: impactOf(given, refused.impact),
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
