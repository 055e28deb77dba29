import type { Repositories } from '@picket/platform/store/repositories.ts';
import { resolveIncidents } from './trigger.ts';

/**
 * Deletes the alert states of checks that do not run, since nothing is known about them now. Their incidents on status
 * pages are resolved, their causes are notified, and their open incidents at receivers are marked for re-evaluation,
 * which ends them with a reason.
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
