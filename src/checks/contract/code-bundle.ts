/**
 * The key of a code bundle identifies its content: the SHA-256 in lower-case hexadecimal, a hyphen, the size in bytes.
 * So equal bytes have equal keys, and the key alone suffices to verify the bytes.
 */
export const codeBundleKey = /^[0-9a-f]{64}-[1-9]\d{0,9}$/;

/** Maximum size of a code bundle, in bytes. */
export const maxCodeBundleBytes = 150 * 2 ** 20;

/** Maximum size of a reference screenshot, in bytes. */
export const maxSnapshotBytes = 10 * 2 ** 20;

export interface BundleContent {
  /** In lower-case hexadecimal. */
  readonly sha256: string;
  readonly sizeBytes: number;
}

export function codeBundleKeyOf({ sha256, sizeBytes }: BundleContent): string {
  return `${sha256}-${sizeBytes}`;
}

/** @throws Error if the text is not a valid key. */
export function readCodeBundleKey(key: string): BundleContent {
  if (!codeBundleKey.test(key)) throw new Error(`not a code bundle key: ${key.slice(0, 100)}`);
  const [sha256 = '', size = ''] = key.split('-');
  return { sha256, sizeBytes: Number(size) };
}
