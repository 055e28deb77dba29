import type { Repositories } from '@picket/platform/store/repositories.ts';
import { resolveIncidents } from './trigger.ts';

/**
 * Forgets the alert states of checks that do not run: nothing is known of them now. Their incidents on status pages
 * are resolved, their causes hear that they are gone, and what is open at receivers is looked at, which ends with its
 * reason.
 */
export async function forgetAlerts(
  repositories: Pick<Repositories, 'alertCauses' | 'alerts' | 'incidentEvents' | 'receiverIncidents'>,
  checkIds: readonly string[],
  now: number,
): Promise<void> {
  for (const { check, incidents } of await repositories.alerts.forgetStates(checkIds)) {
    await repositories.alertCauses.leave(check, now);
    await resolveIncidents(repositories, check, incidents, now);
  }
  for (const checkId of checkIds) await repositories.receiverIncidents.lookAgain({ checkId });
}
