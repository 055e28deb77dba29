import { createSign } from 'node:crypto';
import { toError } from '@picket/lib/errors.ts';
import { z } from 'zod';
import type { Credential } from '../../cached-credential.ts';
import { jsonOf, readAnswer, refusal, type SecretAnswer } from '../../http.ts';
import { ReferenceProblem } from '../../problem.ts';
import type { ProviderMeans } from '../../provider.ts';
import { readSecretFile } from '../../read-file.ts';
import type { GcpSettings } from './settings.ts';

type Means = Pick<ProviderMeans, 'http' | 'epochMs' | 'onCredential'>;

const scope = 'https://www.googleapis.com/auth/cloud-platform';
/** Life of the signed assertion; the longest that Google accepts. */
const assertionSeconds = 3600;

const ServiceAccount = z.object({
  type: z.literal('service_account'),
  client_email: z.string().min(1),
  private_key: z.string().min(1),
  private_key_id: z.string().optional(),
  token_uri: z.url({ protocol: /^https?$/ }).default('https://oauth2.googleapis.com/token'),
});
const Token = z.object({ access_token: z.string().min(1), expires_in: z.number().min(0) });
const explanation = z
  .object({ error: z.string().default(''), error_description: z.string().optional() })
  .transform(({ error, error_description: text }) => text ?? error);

/**
 * A token of Google Cloud: for the service account whose key is set (RFC 7523), or from the metadata service.
 *
 * @throws ReferenceProblem
 */
export async function gcpToken(
  settings: GcpSettings,
  means: Means,
  signal: AbortSignal,
): Promise<Credential<string>> {
  if (settings.keyPath !== undefined) return await fromKey(settings.keyPath, means, signal);
  const answer = await means.http.request(
    {
      url: `http://${settings.metadataHost}/computeMetadata/v1/instance/service-accounts/default/token`,
      headers: { 'metadata-flavor': 'Google' },
      isLocal: true,
    },
    signal,
  );
  return tokenIn('the metadata service of Google Cloud', answer, means);
}

async function fromKey(path: string, means: Means, signal: AbortSignal): Promise<Credential<string>> {
  const parsed = ServiceAccount.safeParse(jsonOf(await readSecretFile(path)));
  if (!parsed.success) {
    throw new ReferenceProblem(
      'UNUSABLE',
      'GOOGLE_APPLICATION_CREDENTIALS is not a file with the key of a service account',
    );
  }
  const account = parsed.data;
  means.onCredential(account.private_key);
  const answer = await means.http.request(
    {
      url: account.token_uri,
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({
        grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
        assertion: assertionOf(account, means.epochMs()),
      }).toString(),
    },
    signal,
  );
  return tokenIn('the login of Google Cloud', answer, means);
}

function assertionOf(account: z.output<typeof ServiceAccount>, epochMs: number): string {
  const issuedAt = Math.floor(epochMs / 1000);
  const header = { alg: 'RS256', typ: 'JWT', kid: account.private_key_id };
  const claims = {
    iss: account.client_email,
    scope,
    aud: account.token_uri,
    iat: issuedAt,
    exp: issuedAt + assertionSeconds,
  };
  const text = [header, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  try {
    return `${text}.${createSign('RSA-SHA256').update(text).sign(account.private_key, 'base64url')}`;
  } catch (thrown) {
    // The text of the error names the format, never the key.
    const { name } = toError(thrown);
    throw new ReferenceProblem('UNUSABLE', `the private key of the service account cannot be used (${name})`);
  }
}

function tokenIn(who: string, answer: SecretAnswer, { onCredential }: Means): Credential<string> {
  if (answer.status !== 200) throw refusal(who, answer, explanation);
  const { access_token: value, expires_in: seconds } = readAnswer(who, Token, answer);
  onCredential(value);
  return { value, lifeMs: seconds * 1000 };
}
