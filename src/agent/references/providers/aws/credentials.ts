import { z } from 'zod';
import type { Credential } from '../../cached-credential.ts';
import { readAnswer, refusal, type SecretAnswer } from '../../http.ts';
import { ReferenceProblem } from '../../problem.ts';
import { credentialOf } from '../../provider-settings.ts';
import { keysOfProfile, usesProfile } from './profile.ts';
import type { AwsSettings } from './settings.ts';
import type { AwsKeys } from './signature.ts';
import { roleByWebIdentity } from './sts.ts';
import { credentialFrom, type Means, TemporaryKeys } from './temporary-keys.ts';

const message = z.object({ message: z.string() }).transform(({ message: said }) => said);

/**
 * Keys of AWS from the first source that the settings name: an access key, a profile, a role by web identity, a container, or the
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
  if (usesProfile(settings)) return await keysOfProfile(settings, region, means, signal);
  if (settings.webIdentityPath !== undefined) return await roleByWebIdentity(settings, region, means, signal);
  if (settings.containerUrl !== undefined || settings.containerPath !== undefined) {
    return await fromContainer(settings, means, signal);
  }
  return await fromMetadata(settings.metadataUrl, means, signal);
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
  return credentialFrom(readAnswer(who, TemporaryKeys, answer), means);
}
