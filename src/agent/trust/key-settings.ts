import { AppError } from '@picket/lib/errors.ts';
import { type PublicKey, readPublicKey } from '@picket/lib/signing/signing-keys.ts';
import { z } from 'zod';

/** A list of keys, separated by commas or spaces. @param read returns a key, or why the text is not one. */
function keyList<Key>(read: (text: string) => { readonly key: Key } | { readonly problem: string }) {
  return z
    .string()
    .transform((text) => text.split(/[\s,]+/).filter((line) => line !== ''))
    .pipe(
      z
        .array(z.string())
        .min(1, 'must name at least one key')
        .max(100, 'must have at most 100 keys')
        .transform((lines, context) =>
          lines.flatMap((line) => {
            const found = read(line);
            if ('key' in found) return [found.key];
            context.addIssue({ code: 'custom', message: `"${line.slice(0, 60)}" ${found.problem}` });
            return [];
          }),
        ),
    )
    .default([])
    .meta({ defaultText: 'none' });
}

/** TRUSTED_KEYS. */
export const publicKeys = keyList<PublicKey>((line) => {
  const key = readPublicKey(line);
  return key ? { key } : { problem: 'is not a public key: "picket keys show FILE" prints it as ed25519:KEY' };
});

/** REVOKED_KEYS, as ids: a person who finds a leaked key often knows no more than its id in a result. */
export const revokedKeyIds = keyList<string>((line) => {
  if (/^[0-9a-f]{16}$/i.test(line)) return { key: line.toLowerCase() };
  const key = readPublicKey(line);
  return key
    ? { key: key.id }
    : { problem: 'is neither a public key (ed25519:KEY) nor the id of one, 16 hexadecimal digits' };
});

/**
 * Refuses a revocation that would have no effect: an agent without TRUSTED_KEYS runs all checks.
 *
 * @throws AppError CONFIG_INVALID
 */
export function requireTrustedKeys(settings: {
  readonly trustedKeys: readonly PublicKey[];
  readonly revokedKeys: readonly string[];
}): void {
  if (settings.revokedKeys.length === 0 || settings.trustedKeys.length > 0) return;
  const line =
    'REVOKED_KEYS: needs TRUSTED_KEYS, without which the agent runs signed and unsigned checks alike';
  throw new AppError('CONFIG_INVALID', `1 problem in the configuration:\n  - ${line}`, {
    attributes: { problems: [line] },
  });
}
