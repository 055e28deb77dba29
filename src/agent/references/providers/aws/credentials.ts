import { z } from 'zod';
import type { Credential } from '../../cached-credential.ts';
import { readAnswer, refusal, type SecretAnswer } from '../../http.ts';
import { ReferenceProblem } from '../../problem.ts';
import type { ProviderMeans } from '../../provider.ts';
import { credentialOf } from '../../provider-settings.ts';
import { readSecretFile } from '../../read-file.ts';
import type { AwsSettings } from './settings.ts';
import type { AwsKeys } from './signature.ts';

type Means = Pick<ProviderMeans, 'http' | 'epochMs' | 'onCredential'>;

/** Credentials as containers and metadata services return them. */
const Keys = z.object({
  AccessKeyId: z.string().min(1),
  SecretAccessKey: z.string().min(1),
  Token: z.string().min(1),
  Expiration: z.iso.datetime({ offset: true }),
});
type Keys = z.output<typeof Keys>;

const message = z.object({ message: z.string() }).transform(({ message: said }) => said);

/**
 * Keys of AWS from the first source that the settings name: an access key, a role by web identity, a container, or the
 * metadata service of EC2.
 *
 * @param region where the role is taken.
 * @throws ReferenceProblem if the source does not give any.
 */
export async function awsKeys(
  settings: AwsSettings,
  region: string,
  means: Means,
  signal: AbortSignal,
): Promise<Credential<AwsKeys>> {
  const { accessKeyId, secretAccessKey, sessionToken } = settings;
  if (accessKeyId !== undefined && secretAccessKey !== undefined) {
    return { value: { accessKeyId, secretAccessKey, sessionToken }, lifeMs: Infinity };
  }
  if (settings.webIdentityPath !== undefined) return await fromWebIdentity(settings, region, means, signal);
  if (settings.containerUrl !== undefined || settings.containerPath !== undefined) {
    return await fromContainer(settings, means, signal);
  }
  return await fromMetadata(settings.metadataUrl, means, signal);
}

async function fromWebIdentity(
  { webIdentityPath = '', roleArn = '', roleSessionName, stsUrl }: AwsSettings,
  region: string,
  means: Means,
  signal: AbortSignal,
): Promise<Credential<AwsKeys>> {
  const token = await readSecretFile(webIdentityPath);
  means.onCredential(token);
  const answer = await means.http.request(
    {
      url: `${stsUrl ?? `https://sts.${region}.${domainOf(region)}`}/`,
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({
        Action: 'AssumeRoleWithWebIdentity',
        Version: '2011-06-15',
        RoleArn: roleArn,
        RoleSessionName: roleSessionName ?? 'picket-agent',
        WebIdentityToken: token,
      }).toString(),
    },
    signal,
  );
  const texts = Object.fromEntries(
    ['AccessKeyId', 'SecretAccessKey', 'SessionToken', 'Expiration', 'Message'].map(
      (name) => [name, elementOf(answer.text, name)] as const,
    ),
  );
  const who = 'the Security Token Service of AWS';
  if (answer.status !== 200) {
    throw refusal(who, { ...answer, text: JSON.stringify({ message: texts.Message ?? '' }) }, message);
  }
  const keys = { ...texts, Token: texts.SessionToken };
  return credentialFrom(readAnswer(who, Keys, { ...answer, text: JSON.stringify(keys) }), means);
}

/** Text of the first element of that name in a response of a service that answers with XML. */
function elementOf(xml: string, name: string): string | undefined {
  const start = xml.indexOf(`<${name}>`);
  const end = start < 0 ? -1 : xml.indexOf('</', start);
  if (end < 0) return undefined;
  const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };
  return xml
    .slice(start + name.length + 2, end)
    .replaceAll(/&(lt|gt|quot|apos|amp);/g, (_all, entity: string) => entities[entity] ?? '')
    .trim();
}

async function fromContainer(
  { containerUrl, containerPath, containerToken, containerTokenPath }: AwsSettings,
  means: Means,
  signal: AbortSignal,
): Promise<Credential<AwsKeys>> {
  const token = await credentialOf(containerToken, containerTokenPath);
  if (token !== undefined) means.onCredential(token);
  const answer = await means.http.request(
    {
      url: containerUrl ?? `http://169.254.170.2${containerPath}`,
      headers: token === undefined ? {} : { authorization: token },
      isLocal: true,
    },
    signal,
  );
  return keysIn('the credentials service of the container', answer, means);
}

/** Version 2 of the metadata service: a token of the session precedes each request. */
async function fromMetadata(url: string, means: Means, signal: AbortSignal): Promise<Credential<AwsKeys>> {
  const who = 'the metadata service of EC2';
  const session = await means.http
    .request(
      {
        url: `${url}/latest/api/token`,
        method: 'PUT',
        headers: { 'x-aws-ec2-metadata-token-ttl-seconds': '60' },
        isLocal: true,
      },
      signal,
    )
    .catch((thrown: unknown) => {
      if (!(thrown instanceof ReferenceProblem)) throw thrown;
      const why = `no credentials of AWS are set, and ${who} is not available: ${thrown.message}`;
      throw new ReferenceProblem(thrown.reason, why);
    });
  if (session.status !== 200) throw refusal(who, session, message);
  const get = (path: string) =>
    means.http.request(
      { url: `${url}${path}`, headers: { 'x-aws-ec2-metadata-token': session.text }, isLocal: true },
      signal,
    );
  const roles = '/latest/meta-data/iam/security-credentials/';
  const named = await get(roles);
  if (named.status !== 200) {
    throw new ReferenceProblem('DENIED', 'the instance has no role of IAM', named.status);
  }
  const [role = ''] = named.text.trim().split('\n');
  return keysIn(who, await get(roles + encodeURIComponent(role)), means);
}

function keysIn(who: string, answer: SecretAnswer, means: Means): Credential<AwsKeys> {
  if (answer.status !== 200) throw refusal(who, answer, message);
  return credentialFrom(readAnswer(who, Keys, answer), means);
}

function credentialFrom(keys: Keys, { epochMs, onCredential }: Means): Credential<AwsKeys> {
  const { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey, Token: sessionToken } = keys;
  onCredential(secretAccessKey);
  onCredential(sessionToken);
  return {
    value: { accessKeyId, secretAccessKey, sessionToken },
    lifeMs: Math.max(0, Date.parse(keys.Expiration) - epochMs()),
  };
}

/** Domain of the public endpoints of a region. */
export function domainOf(region: string): string {
  return region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
}
