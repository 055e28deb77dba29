import { z } from 'zod';
import type { Credential } from '../../cached-credential.ts';
import { readAnswer, refusal, type SecretRequest } from '../../http.ts';
import type { ProviderMeans } from '../../provider.ts';
import { credentialOf } from '../../provider-settings.ts';
import { readSecretFile } from '../../read-file.ts';
import type { AzureSettings } from './settings.ts';

/** Managed identities answer with numbers as texts, and App Service with the end in place of the duration. */
const Token = z.object({
  access_token: z.string().min(1),
  expires_in: z.coerce.number().min(0).optional(),
  expires_on: z.coerce.number().min(0).optional(),
});
const explanation = z
  .object({ error: z.unknown(), error_description: z.string().optional(), message: z.string().optional() })
  .transform(({ error, error_description: text, message }) => text ?? message ?? String(error ?? ''));

/**
 * A token for a resource of Azure from the first source that the settings name: an application with its secret or a
 * federated token, the managed identity of App Service, or that of a virtual machine.
 *
 * @throws ReferenceProblem
 */
export async function azureToken(
  settings: AzureSettings,
  resource: string,
  means: Pick<ProviderMeans, 'http' | 'epochMs' | 'onCredential'>,
  signal: AbortSignal,
): Promise<Credential<string>> {
  const { who, request } = await requestFor(settings, resource, means.onCredential);
  const answer = await means.http.request(request, signal);
  if (answer.status !== 200) throw refusal(who, answer, explanation);
  const { access_token: value, expires_in: seconds, expires_on: end } = readAnswer(who, Token, answer);
  means.onCredential(value);
  const lifeMs = seconds !== undefined ? seconds * 1000 : (end ?? 0) * 1000 - means.epochMs();
  return { value, lifeMs: Math.max(0, lifeMs) };
}

async function requestFor(
  settings: AzureSettings,
  resource: string,
  onCredential: (secret: string) => void,
): Promise<{ readonly who: string; readonly request: SecretRequest }> {
  const { tenantId = '', clientId, federatedPath, identityUrl, identityHeader } = settings;
  const secret = await credentialOf(settings.clientSecret, settings.clientSecretPath);
  if (secret !== undefined || federatedPath !== undefined) {
    const assertion = federatedPath === undefined ? undefined : await readSecretFile(federatedPath);
    onCredential(secret ?? assertion ?? '');
    const body = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId ?? '',
      scope: `${resource}/.default`,
      ...(secret !== undefined
        ? { client_secret: secret }
        : {
            client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
            client_assertion: assertion ?? '',
          }),
    });
    return {
      who: 'the login of Azure',
      request: {
        url: `${settings.authorityUrl}/${encodeURIComponent(tenantId)}/oauth2/v2.0/token`,
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: body.toString(),
      },
    };
  }
  const isAppService = identityUrl !== undefined;
  const url = new URL(identityUrl ?? `${settings.metadataUrl}/metadata/identity/oauth2/token`);
  url.searchParams.set('api-version', isAppService ? '2019-08-01' : '2018-02-01');
  url.searchParams.set('resource', resource);
  if (clientId !== undefined) url.searchParams.set('client_id', clientId);
  return {
    who: 'the managed identity of Azure',
    request: {
      url,
      headers: isAppService ? { 'x-identity-header': identityHeader ?? '' } : { metadata: 'true' },
      isLocal: true,
    },
  };
}
