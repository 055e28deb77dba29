/** Replaces a secret in a result. */
export const mask = '*********';

/** The only list of headers that carry credentials, no matter who set them; names in lower case. */
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

/** Whether results must not show a header's value. */
export function isCredentialHeader(name: string): boolean {
  return credentialHeaders.has(name.trim().toLowerCase());
}

/** Masks the values of credential headers in a header map; returns the same object if it has none. */
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
