import { randomUUID } from 'node:crypto';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import { acknowledgeAlert } from '../raise.ts';
import type { AlertAction } from '../tables.ts';
import type { Actor } from './actor.ts';
import type { StoredSilence } from './store.ts';

/** Actor, time and comment of an action on alerts. */
export interface HandlingAction {
  readonly accountId: string;
  readonly actor: Actor;
  readonly comment: string | null;
  /** Epoch milliseconds. */
  readonly now: number;
}

/**
 * Acknowledges the open alerts of a check, or withdraws that, and records the actor. Runs in a transaction.
 *
 * @returns undefined if nothing is open, else whether there are notifications to send.
 */
export async function acknowledge(
  repositories: Repositories,
  checkId: string,
  isWithdrawn: boolean,
  deed: HandlingAction,
): Promise<{ readonly hasNews: boolean } | undefined> {
  const { actor: by, comment, now } = deed;
  const done = await acknowledgeAlert(
    repositories,
    checkId,
    isWithdrawn ? null : { at: now, by, comment },
    now,
  );
  const action = isWithdrawn ? 'UNACKNOWLEDGED' : 'ACKNOWLEDGED';
  if (done) await note(repositories, action, { checkId, silenceId: null }, deed);
  return done;
}

/** Scope of a silence: exactly one of the three is not null. */
export type SilenceScope = Pick<StoredSilence, 'checkId' | 'tags' | 'location'>;

/** Creates a silence until an instant and records the actor. Runs in a transaction. */
export async function silence(
  repositories: Pick<Repositories, 'alertActions' | 'alerts' | 'silences'>,
  scope: SilenceScope,
  endsAt: number,
  deed: HandlingAction,
): Promise<StoredSilence> {
  const { accountId, actor: createdBy, comment, now } = deed;
  const made = { ...scope, id: randomUUID(), accountId, endsAt, comment, createdBy, created: now };
  await repositories.silences.insert(made);
  await note(repositories, 'SILENCED', { checkId: scope.checkId, silenceId: made.id }, deed);
  // Alerts that are already held back wait for the end of this silence, too.
  await repositories.alerts.lookAgain(accountId, now);
  return made;
}

/** Ends a silence now and records the actor; returns whether it was active. Runs in a transaction. */
export async function endSilence(
  repositories: Repositories,
  id: string,
  deed: HandlingAction,
): Promise<boolean> {
  const { accountId, now } = deed;
  const known = await repositories.silences.find(accountId, id);
  if (!known || !(await repositories.silences.end(accountId, id, now))) return false;
  await note(repositories, 'SILENCE_ENDED', { checkId: known.checkId, silenceId: id }, deed);
  await repositories.alerts.lookAgain(accountId, now);
  await repositories.gaps.lookAgain(accountId, now);
  return true;
}

async function note(
  repositories: Pick<Repositories, 'alertActions'>,
  action: AlertAction,
  about: { readonly checkId: string | null; readonly silenceId: string | null },
  { accountId, actor, comment, now }: HandlingAction,
): Promise<void> {
  await repositories.alertActions.insert({
    account_id: accountId,
    action,
    check_id: about.checkId,
    silence_id: about.silenceId,
    comment,
    actor: JSON.stringify(actor),
    created: now,
  });
}
