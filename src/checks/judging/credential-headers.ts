/** What stands in a result where a secret was. */
export const mask = '*********';

/** Headers that carry credentials, no matter who set them; names in lower case. The one list of them. */
export const credentialHeaders: ReadonlySet<string> = new Set([
  'authorization',
  'proxy-authorization',
  'x-authorization',
  'x-forwarded-authorization',
  'cookie',
  'set-cookie',
  'api-key',
  'x-api-key',
  'x-api-token',
  'x-goog-api-key',
  'dd-api-key',
  'x-auth-key',
  'x-auth-token',
  'x-access-token',
  'x-session-token',
  'x-client-secret',
  'x-functions-key',
  'x-vault-token',
  'x-gitlab-token',
  'private-token',
  'job-token',
  'x-amz-security-token',
  'x-shopify-access-token',
  'ocp-apim-subscription-key',
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
