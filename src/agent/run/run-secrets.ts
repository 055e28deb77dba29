import { maskedTexts } from '../../checks/contract/masking.ts';
import { findCheckType } from '../../checks/index.ts';
import type { RunOrder } from '../runners/worker-protocol.ts';

/** What a run was given and must not show: secret variables, the proxy's password, keys of client certificates. */
export function secretsOf(order: RunOrder): string[] {
  const secrets = order.secretNames.flatMap((name) => order.variables[name] ?? []);
  const password = order.proxyUrl === null ? '' : (URL.parse(order.proxyUrl)?.password ?? '');
  if (password !== '') secrets.push(password, decodeURIComponentSafely(password));
  for (const { key, passphrase } of order.clientCertificates) secrets.push(key, passphrase ?? '');
  secrets.push(...maskedTexts(findCheckType(order.checkType)?.masked ?? [], order.spec));
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
