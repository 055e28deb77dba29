import { z } from 'zod';
import { CachedCredential } from '../../cached-credential.ts';
import { jsonOf, readAnswer, refusal, type SecretAnswer } from '../../http.ts';
import { ReferenceProblem } from '../../problem.ts';
import { defineProvider } from '../../provider.ts';
import { awsKeys } from './credentials.ts';
import { profilePaths } from './profile.ts';
import { awsProblems, awsSettings, regionOf } from './settings.ts';
import { type AwsKeys, signedHeaders } from './signature.ts';
import { domainOf } from './temporary-keys.ts';

const who = 'AWS Secrets Manager';

const Value = z.object({ SecretString: z.string().optional(), SecretBinary: z.base64().optional() });
const Refusal = z
  .object({ __type: z.string().default(''), Message: z.string().optional(), message: z.string().optional() })
  .transform((error) => ({
    type: error.__type.replace(/^.*#/, ''),
    text: error.Message ?? error.message ?? '',
  }));
const explanation = Refusal.transform(({ type, text }) =>
  [type, text].filter((one) => one !== '').join(': '),
);

/** The service answers 400 to everything; the type of the error says why. */
const reasons: Readonly<Record<string, 'NOT_FOUND' | 'DENIED'>> = {
  ResourceNotFoundException: 'NOT_FOUND',
  AccessDeniedException: 'DENIED',
  DecryptionFailure: 'DENIED',
  ExpiredTokenException: 'DENIED',
  UnrecognizedClientException: 'DENIED',
  InvalidSignatureException: 'DENIED',
};
/** The keys are no longer valid: others may be available. */
const staleKeys: ReadonlySet<string> = new Set(['ExpiredTokenException', 'UnrecognizedClientException']);

/** AWS Secrets Manager (GetSecretValue), by the name or the ARN of a secret. */
export const aws = defineProvider({
  name: 'aws',
  form: 'aws:NAME#FIELD',
  settings: awsSettings,
  placeProblem: (place) =>
    /^(?:arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:)?[\w/+=.@-]{1,512}$/.test(place)
      ? undefined
      : 'NAME is the name or the ARN of a secret',
  settingProblems: awsProblems,
  credentials: ({ secretAccessKey, sessionToken, containerToken }) => [
    secretAccessKey,
    sessionToken,
    containerToken,
  ],
  privatePaths: (settings) => [
    settings.webIdentityPath,
    settings.containerTokenPath,
    ...profilePaths(settings),
  ],
  open: (settings, means) => {
    const kept = new Map<string, CachedCredential<AwsKeys>>();
    const ask = async (place: string, region: string, keys: AwsKeys, signal: AbortSignal) => {
      const url = new URL(
        `${settings.secretsUrl ?? `https://secretsmanager.${region}.${domainOf(region)}`}/`,
      );
      const body = JSON.stringify({ SecretId: place });
      const given = {
        'content-type': 'application/x-amz-json-1.1',
        'x-amz-target': 'secretsmanager.GetSecretValue',
      };
      const scope = { region, service: 'secretsmanager', epochMs: means.epochMs() };
      const { host: _host, ...headers } = signedHeaders(
        { method: 'POST', url, headers: given, body },
        scope,
        keys,
      );
      return await means.http.request({ url, method: 'POST', headers, body }, signal);
    };
    return {
      async fetch(place, signal) {
        const region = regionOf(place, settings) ?? '';
        let credential = kept.get(region);
        if (!credential) {
          credential = new CachedCredential(means.clock, (stop) => awsKeys(settings, region, means, stop));
          kept.set(region, credential);
        }
        const keys = await credential.get(signal);
        let answer = await ask(place, region, keys, signal);
        if (staleKeys.has(typeOf(answer)) && settings.accessKeyId === undefined) {
          credential.forget(keys);
          answer = await ask(place, region, await credential.get(signal), signal);
        }
        if (answer.status !== 200) throw refusal(who, answer, explanation, reasons[typeOf(answer)]);
        const { SecretString: text, SecretBinary: binary } = readAnswer(who, Value, answer);
        const content = text ?? (binary && Buffer.from(binary, 'base64').toString('utf8'));
        if (content === undefined)
          throw new ReferenceProblem('UNUSABLE', 'the secret has no value', answer.status);
        return { content };
      },
    };
  },
});

function typeOf({ status, text }: SecretAnswer): string {
  const parsed = status === 200 ? undefined : Refusal.safeParse(jsonOf(text));
  return parsed?.success ? parsed.data.type : '';
}
