/**
 * The key of a code bundle identifies its content: the SHA-256 in lower case hexadecimal, a hyphen, the size in
 * bytes. So the same bytes have the same key, and the key alone tells whether bytes are the right ones.
 */
export const codeBundleKey = /^[0-9a-f]{64}-[1-9]\d{0,9}$/;

/** The largest code bundle, in bytes. */
export const maxCodeBundleBytes = 150 * 2 ** 20;

/** The largest picture that screenshots are compared with, in bytes. */
export const maxSnapshotBytes = 10 * 2 ** 20;

export interface BundleContent {
  /** In lower case hexadecimal. */
  readonly sha256: string;
  readonly sizeBytes: number;
}

export function codeBundleKeyOf({ sha256, sizeBytes }: BundleContent): string {
  return `${sha256}-${sizeBytes}`;
}

/** @throws Error for a text that is no key. */
export function readCodeBundleKey(key: string): BundleContent {
  if (!codeBundleKey.test(key)) throw new Error(`not a code bundle key: ${key.slice(0, 100)}`);
  const [sha256 = '', size = ''] = key.split('-');
  return { sha256, sizeBytes: Number(size) };
}
