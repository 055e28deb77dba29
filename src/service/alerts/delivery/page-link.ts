import { createHmac, timingSafeEqual } from 'node:crypto';

/** How long the link in a notification allows changes; reading needs no signature. */
export const linkLastsMs = 7 * 86_400_000;

/**
 * Signed link to the page of a notification: its holder may acknowledge and silence the subject.
 *
 * @param baseUrl URL of the API for clients.
 * @param signingKey the key of the account.
 * @param until epoch milliseconds.
 */
export function signedPageLink(
  baseUrl: string,
  notificationId: string,
  { signingKey, until }: { readonly signingKey: string; readonly until: number },
): string {
  const path = `${baseUrl.replace(/\/+$/, '')}/v1/alert-notifications/${notificationId}/page`;
  const query = new URLSearchParams({
    until: String(until),
    signature: signatureOf(signingKey, notificationId, String(until)),
  });
  return `${path}?${query}`;
}

/** Whether a link was signed with the key and still allows changes. */
export function isSigned(
  notificationId: string,
  {
    until = '',
    signature = '',
  }: { readonly until?: string | undefined; readonly signature?: string | undefined },
  { signingKey, now }: { readonly signingKey: string; readonly now: number },
): boolean {
  if (!/^\d{1,15}$/.test(until) || Number(until) < now) return false;
  const expected = Buffer.from(signatureOf(signingKey, notificationId, until));
  const given = Buffer.from(signature);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function signatureOf(signingKey: string, notificationId: string, until: string): string {
  return createHmac('sha256', signingKey)
    .update(`alert page\n${notificationId}\n${until}`)
    .digest('base64url');
}
