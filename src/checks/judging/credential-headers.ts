/** What stands in a result where a secret was. */
export const mask = '*********';

/** Headers that carry credentials, no matter who set them; names in lower case. */
export const credentialHeaders: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'set-cookie',
  'x-api-key',
  'proxy-authorization',
]);

/** Whether a header's value must not show in a result. */
export function isCredentialHeader(name: string): boolean {
  return credentialHeaders.has(name.trim().toLowerCase());
}

/** A header map without the values of credential headers; the same object when it has none. */
export function maskedHeaders<Value>(
  headers: Readonly<Record<string, Value>>,
): Readonly<Record<string, Value | string>> {
  let masked: Record<string, Value | string> | undefined;
  for (const name of Object.keys(headers)) {
    if (!isCredentialHeader(name)) continue;
    masked ??= { ...headers };
    masked[name] = mask;
  }
  return masked ?? headers;
}
