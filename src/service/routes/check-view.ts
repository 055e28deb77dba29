import { z } from 'zod';
import type { checkTypeNames } from '../../checks/common-fields.ts';
import { type CheckDefinition, completeDefinition, maskedValues } from '../../checks/definition.ts';
import { findCheckType } from '../../checks/index.ts';
import { maskDefinition } from '../../checks/masking.ts';
import type { Logger } from '../../lib/log.ts';
import { AnyCheck } from '../../protocol/check.ts';
import { defaultOffset } from '../slots.ts';
import type { Check } from '../store/checks.ts';
import { describeIssues } from '../validation.ts';

/** A check as answers show it: whole, and without the values that are masked. */
export function checkView(check: Check) {
  const type = findCheckType(check.checkType);
  const stored = completeDefinition(type, check.definition);
  const definition = maskDefinition(maskedValues(type), stored) as CheckDefinition;
  return {
    ...definition,
    id: check.id,
    checkType: check.checkType as (typeof checkTypeNames)[number],
    frequencyOffset: definition.frequencyOffset ?? defaultOffset(check.id, definition.frequency),
    alertChannels: { email: [], webhook: [], slack: [], sms: [] },
    created_at: new Date(check.created).toISOString(),
    updated_at: check.updated === null ? null : new Date(check.updated).toISOString(),
  };
}

/** Checks as lists show them. One that no answer can hold, after a change of the rules, is left out and told of. */
export function checkListView(checks: readonly Check[], logger: Logger): ReturnType<typeof checkView>[] {
  return checks.flatMap((check) => {
    const view = checkView(check);
    const encoded = z.safeEncode(AnyCheck, view);
    if (encoded.success) return [view];
    logger.error(
      { checkId: check.id, reason: describeIssues(encoded.error.issues) },
      'a stored check cannot be shown; the list leaves it out',
    );
    return [];
  });
}
