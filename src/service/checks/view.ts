import { z } from 'zod';
import { type CheckDefinition, completeDefinition, maskedValues } from '../../checks/contract/definition.ts';
import { maskDefinition } from '../../checks/contract/masking.ts';
import { findCheckType } from '../../checks/index.ts';
import { AnyCheck } from '../../protocol/checks/check.ts';
import type { HandlerDeps } from '../http/handler.ts';
import { describeIssues } from '../http/validation.ts';
import { type CheckChannel, channelsView } from './alert-channels.ts';
import { withPingUrl } from './ping-address.ts';
import { defaultOffset } from './slots.ts';
import type { Check } from './store.ts';

type ViewDeps = Pick<HandlerDeps, 'store' | 'publicUrl' | 'logger'>;
export type CheckView = ReturnType<typeof checkView>;

/**
 * A check as answers show it: whole, without the values that are masked, with the channels it is subscribed
 * to.
 */
function checkView(check: Check, publicUrl: string | undefined, subscribed: readonly CheckChannel[] = []) {
  const type = findCheckType(check.checkType);
  const stored = completeDefinition(type, check.definition);
  const masked = maskDefinition(maskedValues(type), stored);
  const definition = withPingUrl(type, masked, publicUrl) as CheckDefinition;
  return {
    ...definition,
    id: check.id,
    checkType: check.checkType,
    frequencyOffset: definition.frequencyOffset ?? defaultOffset(check.id, definition.frequency),
    ...channelsView(subscribed),
    created_at: new Date(check.created).toISOString(),
    updated_at: check.updated === null ? null : new Date(check.updated).toISOString(),
  };
}

/** The same of one check whose channels are still to be looked up. */
export async function oneCheckView({ store, publicUrl }: ViewDeps, check: Check): Promise<CheckView> {
  const channels = await store.alertChannels.ofChecks([check.id]);
  return checkView(check, publicUrl, channels.get(check.id));
}

/**
 * Checks as lists show them. One that no answer can hold, after a change of the rules, is left out and
 * logged.
 */
export async function checkListView(
  { store, publicUrl, logger }: ViewDeps,
  checks: readonly Check[],
): Promise<CheckView[]> {
  const channels = await store.alertChannels.ofChecks(checks.map(({ id }) => id));
  return checks.flatMap((check) => {
    const view = checkView(check, publicUrl, channels.get(check.id));
    const encoded = z.safeEncode(AnyCheck, view);
    if (encoded.success) return [view];
    logger.error(
      { checkId: check.id, reason: describeIssues(encoded.error.issues) },
      'stored check does not match the schema; omitted from the list',
    );
    return [];
  });
}
