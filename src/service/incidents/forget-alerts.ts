import type { Repositories } from '../repositories.ts';
import { resolveIncidents } from './trigger.ts';

/**
 * Forgets the alert states of checks that do not run: nothing is known of them now. Their incidents on status pages
 * are resolved, and those at receivers are looked at, which end with their reason.
 */
export async function forgetAlerts(
  repositories: Repositories,
  checkIds: readonly string[],
  now: number,
): Promise<void> {
  for (const { check, incidents } of await repositories.alerts.forgetStates(checkIds)) {
    await resolveIncidents(repositories, check, incidents, now);
  }
  for (const checkId of checkIds) await repositories.receiverIncidents.lookAgain({ checkId });
}
