import { AlertSettings } from '../../checks/common-fields.ts';
import { completeDefinition } from '../../checks/definition.ts';
import { findCheckType } from '../../checks/index.ts';
import type { Check } from '../store/checks.ts';
import type { Nouns } from '../store/store.ts';

/** What decides how a check alerts at an instant. */
export interface AlertPolicy {
  readonly check: Check;
  readonly groupId: number | null;
  readonly settings: AlertSettings;
  /** Why nobody is told anything now; null when they are. */
  readonly suppressedBy: 'muted' | 'maintenance' | null;
}

/**
 * The policies of some checks by id; deleted and deactivated ones have none. The settings are the check's own when
 * `useGlobalAlertSettings` is false, else those of its account (check model 2.2). This is the one place where settings of
 * groups and maintenance windows come in.
 */
export async function alertPolicies(
  nouns: Nouns,
  checkIds: readonly string[],
  at: number,
): Promise<Map<string, AlertPolicy>> {
  const checks = [...(await nouns.checks.findMany(checkIds)).values()].filter(({ activated }) => activated);
  const accountSettings = await nouns.accounts.alertSettings(checks.map(({ accountId }) => accountId));
  const silenced = await silencedAmong(checks, at);
  return new Map(
    checks.map((stored) => {
      const check = {
        ...stored,
        definition: completeDefinition(findCheckType(stored.checkType), stored.definition),
      };
      const { useGlobalAlertSettings, alertSettings, groupId } = check.definition;
      const own = useGlobalAlertSettings === false ? alertSettings : accountSettings.get(check.accountId);
      const isMuted = check.definition.muted === true;
      const policy: AlertPolicy = {
        check,
        groupId: typeof groupId === 'number' ? groupId : null,
        settings: asSettings(own),
        suppressedBy: isMuted ? 'muted' : silenced.has(check.id) ? 'maintenance' : null,
      };
      return [check.id, policy];
    }),
  );
}

/** Stored alert settings, whole; the defaults where there are none, or none this build accepts. */
export function asSettings(stored: unknown): AlertSettings {
  const parsed = AlertSettings.safeParse(stored ?? {});
  return parsed.success ? parsed.data : AlertSettings.parse({});
}

/** Of some checks, those whose alerts are held back by a maintenance window at an instant: there are none yet. */
async function silencedAmong(_checks: readonly Check[], _at: number): Promise<ReadonlySet<string>> {
  return new Set();
}
