import { completeDefinition } from '@picket/checks/contract/definition/definition.ts';
import { findCheckType } from '@picket/checks/index.ts';
import { defaultRuntimeId } from '@picket/checks/tables/runtimes.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import { CheckGroupInput, type GroupDefinition } from '@picket/protocol/checks/check-group.ts';
import type { z } from 'zod';
import { needText } from '../agent-presence/needed-browsers.ts';
import type { CheckGroup } from './groups/store.ts';
import { namesScripts } from './lifecycle-scripts.ts';
import type { Check } from './store.ts';

type Entry = Readonly<Record<string, unknown>>;

/** Definition of a group as this build writes it: fields newer than the stored group get their defaults. */
export function completeGroup(group: Pick<CheckGroup, 'definition'>): GroupDefinition {
  const completed: Record<string, unknown> = { ...group.definition };
  for (const [key, field] of Object.entries(CheckGroupInput.shape)) {
    const parsed = field.safeParse(completed[key]);
    if (parsed.success) completed[key] = parsed.data;
  }
  return completed as GroupDefinition;
}

/** A check with the settings of its group applied. */
export type EffectiveCheck<C = Check> = C & {
  /** Runtime and browsers that an agent needs to run it (agent-presence/needed-browsers.ts); null for none. */
  readonly neededRuntimeId: string | null;
};

/** Parts of a check that its group affects. */
export type GroupMember = Pick<Check, 'accountId' | 'groupId' | 'checkType' | 'activated' | 'definition'>;

/**
 * Applies the settings of a group to a check (check model 2.6): the result is what is scheduled, leased, retried and
 * alerted on. Settings that a group leaves open (null or empty) stay as the check has them. Setup and teardown scripts
 * are not merged, because both run: see lifecycle-scripts.ts.
 */
export function withGroup<C extends GroupMember>(check: C, group: CheckGroup | undefined): EffectiveCheck<C> {
  if (!group || group.accountId !== check.accountId) {
    return { ...check, neededRuntimeId: neededRuntimeId(check, undefined) };
  }
  const settings = completeGroup(group);
  const type = findCheckType(check.checkType);
  const own = completeDefinition(type, check.definition);
  const hasPlaces = [settings.locations, settings.privateLocations].some((list) => (list ?? []).length > 0);
  const activated = check.activated && settings.activated;
  const definition: Record<string, unknown> = {
    ...own,
    activated,
    muted: own.muted === true || settings.muted,
    ...(hasPlaces
      ? { locations: settings.locations ?? [], privateLocations: settings.privateLocations ?? [] }
      : {}),
    runParallel: settings.runParallel ?? own.runParallel,
    activeHours: type?.pings ? own.activeHours : (settings.activeHours ?? own.activeHours),
    retryStrategy:
      settings.retryStrategy === 'FALLBACK'
        ? own.retryStrategy
        : (settings.retryStrategy ?? own.retryStrategy),
    doubleCheck: settings.doubleCheck ?? own.doubleCheck,
    alertSettings: settings.alertSettings ?? own.alertSettings,
    useGlobalAlertSettings: settings.useGlobalAlertSettings ?? own.useGlobalAlertSettings,
    alertChannelSubscriptions:
      settings.alertChannelSubscriptions.length > 0
        ? settings.alertChannelSubscriptions
        : own.alertChannelSubscriptions,
    runtimeId: own.runtimeId ?? settings.runtimeId,
    tags: [...new Set([...settings.tags, ...entries<string>(own.tags)])],
    environmentVariables: mergedByKey(
      settings.environmentVariables ?? [],
      entries<Entry>(own.environmentVariables),
    ),
  };
  // A type may reject a setting that other types accept: a suite uses the retries of its own configuration.
  for (const [key, field] of Object.entries<z.ZodType>(type?.spec.shape ?? {})) {
    if (definition[key] !== own[key] && !field.safeParse(definition[key]).success) definition[key] = own[key];
  }
  const defaults = type?.groupDefaults;
  const effective = {
    ...check,
    activated,
    definition: defaults ? defaults.apply(definition, settings[defaults.field] as Entry) : definition,
  };
  return { ...effective, neededRuntimeId: neededRuntimeId(effective, settings) };
}

function neededRuntimeId(
  check: Pick<Check, 'checkType' | 'definition'>,
  settings: GroupDefinition | undefined,
): string | null {
  const type = findCheckType(check.checkType);
  const browsers = type?.neededBrowsers?.(completeDefinition(type, check.definition)) ?? [];
  const runsScripts = type?.usesLifecycleScripts && namesScripts(check.definition, settings);
  return needText(type?.needsRuntime || runsScripts ? runtimeOf(check) : null, browsers);
}

/** Groups of the given checks, by id. */
export async function groupsOf(
  repositories: Pick<Repositories, 'groups'>,
  checks: readonly GroupMember[],
): Promise<Map<number, CheckGroup>> {
  return repositories.groups.findMany(checks.flatMap(({ groupId }) => (groupId === null ? [] : [groupId])));
}

/** Checks with the settings of their groups applied. */
export async function withGroups<C extends GroupMember>(
  repositories: Pick<Repositories, 'groups'>,
  checks: readonly C[],
): Promise<EffectiveCheck<C>[]> {
  const groups = await groupsOf(repositories, checks);
  return checks.map((check) => withGroup(check, groupOf(check, groups)));
}

export function groupOf(check: GroupMember, groups: ReadonlyMap<number, CheckGroup>): CheckGroup | undefined {
  return check.groupId === null ? undefined : groups.get(check.groupId);
}

/** Effective runtime of a check: its own, its group's, or the account's. */
export function runtimeOf({ definition }: Pick<Check, 'definition'>): string {
  return typeof definition.runtimeId === 'string' ? definition.runtimeId : defaultRuntimeId;
}

/** Effective tags of a check. */
export function tagsOf(check: Pick<Check, 'definition'>): readonly string[] {
  return entries<string>(check.definition.tags);
}

function mergedByKey(groups: readonly Entry[], own: readonly Entry[]): Entry[] {
  const taken = new Set(own.map(({ key }) => key));
  return [...groups.filter(({ key }) => !taken.has(key)), ...own];
}

function entries<Item>(value: unknown): readonly Item[] {
  return Array.isArray(value) ? value : [];
}
