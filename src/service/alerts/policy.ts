import { AlertSettings } from '@picket/checks/contract/definition/common-fields.ts';
import { completeDefinition } from '@picket/checks/contract/definition/definition.ts';
import { findCheckType } from '@picket/checks/index.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import { withDefaults } from '@picket/platform/store/stored-json.ts';
import { completeGroup, groupOf, groupsOf, tagsOf, withGroup } from '../checks/effective-check.ts';
import type { CheckGroup } from '../checks/groups/store.ts';
import type { Check } from '../checks/store.ts';
import { Maintenance } from '../maintenance/maintenance.ts';
import { concerns, type Silence, silenceAt } from './handling/silence.ts';
import type { Withholding } from './state.ts';

/** Determines how a check alerts at an instant. */
export interface AlertPolicy {
  /** With the settings of its group applied. */
  readonly check: Check;
  readonly groupId: number | null;
  readonly groupName: string | null;
  readonly settings: AlertSettings;
  /** Why alerts are held back now; null if they are not. */
  readonly suppressedBy: 'muted' | 'maintenance' | null;
  /** Silence that holds back news from the given locations of the check, or null. */
  silenceAt(locations: readonly string[]): Silence | null;
  /** Suppression of alerts about the given locations of the check, or null; a silence with its id. */
  withheldAt(locations: readonly string[]): (Withholding & { readonly silenceId?: string }) | null;
}

/**
 * Policies of the given checks by id; deleted and deactivated checks have none. The settings are those of the check (or
 * what its group sets instead) if `useGlobalAlertSettings` is false, else the group's if it has any, else those of the
 * account (check model 2.2, 2.6). Alerts of muted checks and groups, and alerts during a maintenance window that
 * silences them, are held back until that ends.
 */
export async function alertPolicies(
  repositories: Repositories,
  checkIds: readonly string[],
  at: number,
): Promise<Map<string, AlertPolicy>> {
  const stored = [...(await repositories.checks.findMany(checkIds)).values()];
  const groups = await groupsOf(repositories, stored);
  const accountIds = [...new Set(stored.map(({ accountId }) => accountId))];
  const accountSettings = await repositories.accounts.alertSettings(accountIds);
  const maintenance = await Maintenance.load(repositories, accountIds, { from: at, to: at });
  const silences = await repositories.silences.active(accountIds, at);
  const policies = stored.map((one): AlertPolicy => {
    const group = groupOf(one, groups);
    const whole = completeDefinition(findCheckType(one.checkType), one.definition);
    const check = withGroup({ ...one, definition: whole }, group);
    const inMaintenanceUntil = maintenance.silencedUntil(check.accountId, tagsOf(check), at);
    const { id, accountId } = check;
    const concerning = silences.filter((silence) =>
      concerns(silence, { id, accountId, tags: tagsOf(check) }),
    );
    const isMuted = check.definition.muted === true;
    const withheld = isMuted
      ? { by: 'muted' as const, until: null }
      : inMaintenanceUntil !== null
        ? { by: 'maintenance' as const, until: inMaintenanceUntil }
        : null;
    const bySilence = (silence: Silence | null) =>
      silence && { by: 'silenced' as const, until: silence.endsAt, silenceId: silence.id };
    return {
      check,
      groupId: group?.id ?? null,
      groupName: group ? completeGroup(group).name : null,
      settings: settingsOf(check, group, accountSettings.get(check.accountId)),
      suppressedBy: withheld?.by ?? null,
      silenceAt: (locations) => silenceAt(concerning, locations),
      withheldAt: (locations) => withheld ?? bySilence(silenceAt(concerning, locations)),
    };
  });
  return new Map(policies.filter(({ check }) => check.activated).map((policy) => [policy.check.id, policy]));
}

function settingsOf(check: Check, group: CheckGroup | undefined, ofAccount: unknown): AlertSettings {
  if (check.definition.useGlobalAlertSettings === false) return asSettings(check.definition.alertSettings);
  const ofGroup = group && completeGroup(group);
  const isGroups = ofGroup?.alertSettings && ofGroup.useGlobalAlertSettings !== true;
  return asSettings(isGroups ? ofGroup.alertSettings : ofAccount);
}

/** Completes stored alert settings; the defaults if nothing is stored. */
export function asSettings(stored: unknown): AlertSettings {
  return withDefaults(AlertSettings.schema, structuredClone(stored ?? {}));
}
