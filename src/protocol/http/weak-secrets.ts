import { type MaskedValue, maskedEntries } from '@picket/checks/contract/masking.ts';
import { weakReason, weakSecretText } from '@picket/lib/bounds/maskable.ts';
import type { Warning } from './warning.ts';

type Definition = Readonly<Record<string, unknown>>;

/**
 * Returns the hidden values of a definition that agents cannot remove from results and logs, or not everywhere: by name
 * and field, never by value.
 */
export function weakSecrets(masked: readonly MaskedValue[], definition: Definition): Warning[] {
  return maskedEntries(masked, definition).flatMap(({ field, name, value }) =>
    weakSecret({ field, name, value }),
  );
}

/** Does the same for one value. An empty one hides nothing. */
export function weakSecret(secret: {
  readonly field: string;
  readonly name: string;
  readonly value: string;
}): Warning[] {
  const { field, name, value } = secret;
  const reason = value === '' ? undefined : weakReason(value);
  if (!reason) return [];
  return [{ code: 'NOT_MASKED', message: weakSecretText(JSON.stringify(name), reason), field }];
}
