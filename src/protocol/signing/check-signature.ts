import type { KeyObject } from 'node:crypto';
import { type CompactSignature, readCompact, signCompact } from '@picket/lib/signing/compact-signature.ts';
import { compareWithSigned, type JudgedRun, Statement } from './signed-run.ts';

const payloadType = 'picket-check';
/** A signer whose clock is ahead must not outdate the versions of all others. */
const maxAheadMs = 86_400_000;

/** Why an agent that runs only signed checks refuses a run. */
export const distrustReasons = ['UNSIGNED', 'UNKNOWN_KEY', 'REVOKED', 'CHANGED', 'EXPIRED', 'OLDER'] as const;
export type DistrustReason = (typeof distrustReasons)[number];

/** A run that is not trusted, for programs and in words. */
export interface Distrust {
  readonly reason: DistrustReason;
  /** The key of the signature; absent without one. */
  readonly keyId?: string;
  /** Fields that changed after the check was signed. */
  readonly changedFields?: string[];
  readonly message: string;
}

/** A signature whose statement can be read; its signer is not verified. */
export interface CheckSignature extends Pick<CompactSignature, 'keyId' | 'isSignedBy'> {
  readonly statement: Statement;
}

export function signCheck(statement: Statement, key: KeyObject): string {
  return signCompact(statement, payloadType, key);
}

/** Reads the signature of a check; undefined if the text is not one. */
export function readCheckSignature(text: string): CheckSignature | undefined {
  const read = readCompact(text, payloadType);
  const statement = Statement.safeParse(read?.payload);
  if (!read || !statement.success) return undefined;
  return { keyId: read.keyId, isSignedBy: read.isSignedBy, statement: statement.data };
}

/** A key that signatures are accepted from. `key` is absent where only its id is known: signatures are not verified there. */
export interface TrustedKey {
  readonly id: string;
  readonly key?: KeyObject;
  readonly notAfter: number | null;
}

/** A run that is what the holder of a trusted key signed. */
interface Accepted<Run> {
  /** Without everything that was not signed. */
  readonly run: Run;
  readonly statement: Statement;
  /** When the key or the signature expires, in milliseconds since 1970; Infinity: never. */
  readonly endsAt: number;
}

/**
 * Decides whether a run is what the holder of a trusted key signed.
 *
 * @param now milliseconds since 1970, by the clock of the judge.
 * @param revoked ids of keys that are not trusted, even if they are among the trusted ones.
 * @returns the run without everything that was not signed, and its statement; or why it is refused.
 */
export function judgeRun<Run extends JudgedRun>(
  run: Run,
  trusted: readonly TrustedKey[],
  now: number,
  revoked: ReadonlySet<string> = new Set(),
): Accepted<Run> | { readonly distrust: Distrust } {
  const text = run.signature;
  if (text === null) return refused('UNSIGNED', 'The check is not signed.');
  const signature = readCheckSignature(text);
  if (!signature)
    return refused('CHANGED', 'The signature of the check cannot be read.', { changedFields: ['signature'] });
  const { keyId, statement } = signature;
  if (revoked.has(keyId)) {
    return refused('REVOKED', `The check is signed with the key ${keyId}, which is revoked.`, { keyId });
  }
  // A key that is listed twice is trusted for the longer time.
  const [key] = trusted
    .filter(({ id }) => id === keyId)
    .toSorted((one, other) => (endOf(one) < endOf(other) ? 1 : -1));
  if (!key) {
    return refused(
      'UNKNOWN_KEY',
      `The check is signed with the key ${keyId}, which the agent does not trust.`,
      { keyId },
    );
  }
  if (key.key && !signature.isSignedBy(key.key)) {
    const message = `The signature of the check is not one of the key ${keyId}.`;
    return refused('CHANGED', message, { keyId, changedFields: ['signature'] });
  }
  if (key.notAfter !== null && now >= key.notAfter) {
    return refused('EXPIRED', `The key ${keyId} is trusted only until ${instant(key.notAfter)}.`, { keyId });
  }
  if (statement.notAfter !== null && now >= statement.notAfter) {
    return refused(
      'EXPIRED',
      `The signature of the check is valid only until ${instant(statement.notAfter)}.`,
      { keyId },
    );
  }
  if (statement.serial > now + maxAheadMs) {
    const message = `The signature of the check is dated ${instant(statement.serial)}, more than a day ahead of the clock here.`;
    return refused('EXPIRED', message, { keyId });
  }
  const compared = compareWithSigned(statement, run);
  if (compared.changed.length === 0) {
    return { run: compared.run, statement, endsAt: Math.min(endOf(key), statement.notAfter ?? Infinity) };
  }
  const changedFields = [...compared.changed];
  const message = `The check differs from what was signed with the key ${keyId}: ${changedFields.join(', ')}.`;
  return refused('CHANGED', message, { keyId, changedFields });
}

/** A run of an older version of the check than one that the agent has run. */
export function olderVersion({ subject, serial }: Statement, seen: number): Distrust {
  const message = `The check is version ${serial} of ${subject}, and the agent has run version ${seen}.`;
  return refused('OLDER', message).distrust;
}

function refused(
  reason: DistrustReason,
  message: string,
  facts: Pick<Distrust, 'keyId' | 'changedFields'> = {},
): { readonly distrust: Distrust } {
  return { distrust: { reason, ...facts, message } };
}

function endOf({ notAfter }: TrustedKey): number {
  return notAfter ?? Infinity;
}

function instant(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString();
}
