import {
  type CheckDefinition,
  completeDefinition,
  maskedValues,
} from '@picket/checks/contract/definition/definition.ts';
import { maskDefinition } from '@picket/checks/contract/masking.ts';
import { findCheckType } from '@picket/checks/index.ts';
import type { HandlerDeps } from '@picket/platform/feature/handler.ts';
import { describeIssues } from '@picket/platform/http/validation.ts';
import { AnyCheck } from '@picket/protocol/checks/check.ts';
import type { CheckState } from '@picket/protocol/checks/check-state.ts';
import type { Warning } from '@picket/protocol/http/warning.ts';
import { weakSecrets } from '@picket/protocol/http/weak-secrets.ts';
import { z } from 'zod';
import { type CheckChannel, channelsView } from './alert-channels.ts';
import { groupOf, groupsOf } from './effective-check.ts';
import type { CheckGroup } from './groups/store.ts';
import { withPingUrl } from './ping-address.ts';
import type { StandingCheck } from './state/states.ts';
import type { Check } from './store.ts';
import { nextRunsOf } from './timing/next-runs.ts';
import { defaultOffset } from './timing/slots.ts';
import { mayBeOutweighed, outweighedWarnings } from './warnings/outweighed.ts';
import { warningsOf } from './warnings/warnings.ts';
import { effectWarnings } from './warnings/without-effect.ts';

type ViewDeps = Pick<HandlerDeps, 'store' | 'clock' | 'publicUrl' | 'logger'>;
export type CheckView = ReturnType<typeof checkView>;

/** A check as responses show it: complete, with masked values hidden, and with the channels it is subscribed to. */
function checkView(
  check: Check,
  publicUrl: string | undefined,
  subscribed: readonly CheckChannel[] | undefined,
  warnings: readonly Warning[],
  { state, nextRunAt }: Standing,
) {
  const type = findCheckType(check.checkType);
  const stored = completeDefinition(type, check.definition);
  const masked = maskDefinition(maskedValues(type), stored);
  const definition = withPingUrl(type, masked, publicUrl) as CheckDefinition;
  return {
    ...definition,
    id: check.id,
    accountId: check.accountId,
    checkType: check.checkType,
    frequencyOffset: definition.frequencyOffset ?? defaultOffset(check.id, definition.frequency),
    ...channelsView(subscribed ?? []),
    warnings: [...warnings],
    state,
    nextRunAt: nextRunAt === null ? null : new Date(nextRunAt).toISOString(),
    created_at: new Date(check.created).toISOString(),
    updated_at: check.updated === null ? null : new Date(check.updated).toISOString(),
  };
}

/** Whether a check is shown as written, or with the settings of its group. */
type ViewKind = 'own' | 'in-effect';

/** Channels of checks; in effect, those of their groups, if these have any. */
async function channelsOf(
  store: ViewDeps['store'],
  checks: readonly Check[],
  kind: ViewKind,
): Promise<(check: Check) => readonly CheckChannel[] | undefined> {
  const own = await store.alertChannels.ofChecks(checks.map(({ id }) => id));
  const groupIds = kind === 'own' ? [] : checks.flatMap(({ groupId }) => groupId ?? []);
  const ofGroups = await store.alertChannels.ofGroups(groupIds);
  return ({ id, groupId }) => (groupId === null ? undefined : ofGroups.get(groupId)) ?? own.get(id);
}

/**
 * Warnings for checks: reasons why they do not run, settings without effect, and secrets that are not masked. Settings
 * that come from a group are reported for the group.
 */
async function allWarningsOf(
  { store, clock }: ViewDeps,
  checks: readonly Check[],
  kind: ViewKind,
): Promise<(check: Check) => readonly Warning[]> {
  const warnings = await warningsOf(store, checks, clock.wallMs());
  if (kind === 'in-effect') return (check) => warnings.get(check.id) ?? [];
  const groups = await groupsOf(store, checks.filter(mayBeOutweighed));
  return (check) => [...(warnings.get(check.id) ?? []), ...ownWarnings(check, groupOf(check, groups))];
}

function ownWarnings(check: Check, group: CheckGroup | undefined): Warning[] {
  const masked = maskedValues(findCheckType(check.checkType));
  return [
    ...effectWarnings(check),
    ...outweighedWarnings(check, group),
    ...weakSecrets(masked, check.definition),
  ];
}

/** Same for one check, looking up its channels. */
export async function oneCheckView(deps: ViewDeps, check: Check, kind: ViewKind = 'own'): Promise<CheckView> {
  const { store, clock, publicUrl } = deps;
  const channels = await channelsOf(store, [check], kind);
  const warnings = await allWarningsOf(deps, [check], kind);
  const standing = await standingOf(store, [check], clock.wallMs());
  return checkView(check, publicUrl, channels(check), warnings(check), standing(check));
}

/** Checks as lists show them. A check that no longer fits the response schema is omitted and logged. */
export async function checkListView(
  deps: ViewDeps,
  checks: readonly Check[],
  kind: ViewKind = 'own',
): Promise<CheckView[]> {
  const { store, clock, publicUrl, logger } = deps;
  const channels = await channelsOf(store, checks, kind);
  const warnings = await allWarningsOf(deps, checks, kind);
  const standing = await standingOf(store, checks, clock.wallMs());
  return checks.flatMap((check) => {
    const view = checkView(check, publicUrl, channels(check), warnings(check), standing(check));
    const encoded = z.safeEncode(AnyCheck.schema, view);
    if (encoded.success) return [view];
    logger.error(
      { checkId: check.id, reason: describeIssues(encoded.error.issues) },
      'stored check does not match the schema; omitted from the list',
    );
    return [];
  });
}

/** State of a check, and its next run. */
interface Standing {
  readonly state: CheckState;
  /** Epoch milliseconds; null for checks that are not scheduled. */
  readonly nextRunAt: number | null;
}

async function standingOf(
  store: ViewDeps['store'],
  checks: readonly Check[],
  now: number,
): Promise<(check: Check) => Standing> {
  const [first] = checks;
  const ids = checks.map(({ id }) => id);
  const states = first ? await store.states.of(first.accountId, ids, now) : new Map<string, StandingCheck>();
  const nextRuns = await nextRunsOf(store, checks);
  return ({ id }) => ({ state: states.get(id)?.state ?? 'pending', nextRunAt: nextRuns.get(id) ?? null });
}
