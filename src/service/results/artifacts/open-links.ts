import { createHmac, timingSafeEqual } from 'node:crypto';

/** How long a link opens its file: enough time to read the output of a command. */
export const linkOpensMs = 3_600_000;

/** The file that a link opens. */
export interface LinkedFile {
  readonly accountId: string;
  readonly resultId: string;
  readonly name: string;
}

/**
 * Signed URL that opens a single file without a key, for users who follow a link.
 *
 * @param baseUrl URL of the API for clients.
 * @param signingKey the key of the account.
 * @param until epoch milliseconds.
 */
export function openLink(
  baseUrl: string,
  file: LinkedFile,
  { signingKey, until }: { readonly signingKey: string; readonly until: number },
): string {
  const name = file.name.split('/').map(encodeURIComponent).join('/');
  const signature = signatureOf(signingKey, file, String(until));
  const query = new URLSearchParams({ until: String(until), signature });
  return `${baseUrl.replace(/\/+$/, '')}/v1/open-assets/${file.accountId}/${file.resultId}/${name}?${query}`;
}

/** Whether a link to the file was signed with the key and has not expired. */
export function isOpenedBy(
  file: LinkedFile,
  { until, signature }: { readonly until: string; readonly signature: string },
  { signingKey, now }: { readonly signingKey: string; readonly now: number },
): boolean {
  if (!/^\d{1,15}$/.test(until) || Number(until) < now) return false;
  const expected = Buffer.from(signatureOf(signingKey, file, until));
  const given = Buffer.from(signature);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function signatureOf(signingKey: string, { accountId, resultId, name }: LinkedFile, until: string): string {
  return createHmac('sha256', signingKey)
    .update(`file of a result\n${accountId}\n${resultId}\n${until}\n${name}`)
    .digest('base64url');
}
