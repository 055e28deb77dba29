import { maskedTexts } from '@picket/checks/contract/masking.ts';
import { findCheckType } from '@picket/checks/index.ts';
import type { LeasedRun } from '@picket/protocol/agent/agent.ts';
import type { RunOrder } from './contracts.ts';

/**
 * Built-in variables of every run (check model 5.5; spec.md "Versioning": `SERVICE` is set for service-triggered runs,
 * `CI` only in runs of test sessions). A check's own variables of the same name take precedence.
 */
export function builtInVariables(run: LeasedRun): Record<string, string> {
  return {
    SERVICE: '1',
    // Migrated projects read it to tell a check from a developer's run.
    CHECKLY: '1',
    ACCOUNT_ID: run.accountId,
    CHECK_ID: run.check.id,
    CHECK_NAME: run.check.name,
    CHECK_TYPE: run.check.checkType,
    CHECK_RUN_ID: String(run.checkRunId),
    CHECK_RESULT_ID: run.resultId,
    REGION: run.location.name,
    ...(run.isTestSession ? { CI: 'true' } : {}),
  };
}

/**
 * Secrets in a run's input that it must not show: secret variables, the proxy's password, keys of client certificates.
 */
export function secretsOf({
  checkType,
  spec,
  input,
}: Pick<RunOrder, 'checkType' | 'spec' | 'input'>): string[] {
  const secrets = input.secretNames.flatMap((name) => input.variables[name] ?? []);
  const password = input.proxyUrl === null ? '' : (URL.parse(input.proxyUrl)?.password ?? '');
  if (password !== '') secrets.push(password, decodeURIComponentSafely(password));
  for (const { key, passphrase } of input.clientCertificates) secrets.push(key, passphrase ?? '');
  secrets.push(...(input.otherSecrets ?? []));
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
