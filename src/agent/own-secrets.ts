import type { AgentSettings } from './config.ts';
import { providerCredentials } from './references/settings.ts';

/** Secrets of the agent itself, which it must never show: its key, its secret variables, passwords of its proxies. */
export function ownSecretsOf(settings: AgentSettings): string[] {
  const { http, https, all } = settings.proxy;
  const passwords = [http, https, all].flatMap((proxy) => URL.parse(proxy ?? '')?.password ?? []);
  const { apiKey, model, serviceSecrets, references } = settings;
  const values = [...Object.values(serviceSecrets), ...providerCredentials(references)];
  return [apiKey, model?.apiKey ?? '', ...values, ...passwords].filter((text) => text !== '');
}
