import { maskedTexts } from '../../checks/contract/masking.ts';
import { findCheckType } from '../../checks/index.ts';
import type { RunOrder } from './contracts.ts';

/** What a run was given and must not show: secret variables, the proxy's password, keys of client certificates. */
export function secretsOf({
  checkType,
  spec,
  input,
}: Pick<RunOrder, 'checkType' | 'spec' | 'input'>): string[] {
  const secrets = input.secretNames.flatMap((name) => input.variables[name] ?? []);
  const password = input.proxyUrl === null ? '' : (URL.parse(input.proxyUrl)?.password ?? '');
  if (password !== '') secrets.push(password, decodeURIComponentSafely(password));
  for (const { key, passphrase } of input.clientCertificates) secrets.push(key, passphrase ?? '');
  secrets.push(...maskedTexts(findCheckType(checkType)?.masked ?? [], spec));
  return secrets;
}

function decodeURIComponentSafely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (thrown) {
    if (thrown instanceof URIError) return text;
    throw thrown;
  }
}
