import { z } from 'zod';
import type { Credential } from '../../cached-credential.ts';
import { readAnswer, refusal } from '../../http.ts';
import { readSecretFile } from '../../read-file.ts';
import type { AwsSettings } from './settings.ts';
import { type AwsKeys, signedHeaders } from './signature.ts';
import { credentialFrom, domainOf, type Means, TemporaryKeys } from './temporary-keys.ts';

const who = 'the Security Token Service of AWS';
const message = z.object({ message: z.string() }).transform(({ message: said }) => said);
const defaultSession = 'picket-agent';

interface Scope {
  readonly settings: Pick<AwsSettings, 'stsUrl'>;
  readonly region: string;
}

/** Takes a role with the token of a service account. @throws ReferenceProblem */
export async function roleByWebIdentity(
  { webIdentityPath = '', roleArn = '', roleSessionName, stsUrl }: AwsSettings,
  region: string,
  means: Means,
  signal: AbortSignal,
): Promise<Credential<AwsKeys>> {
  const token = await readSecretFile(webIdentityPath);
  means.onCredential(token);
  const form = {
    Action: 'AssumeRoleWithWebIdentity',
    RoleArn: roleArn,
    RoleSessionName: roleSessionName ?? defaultSession,
    WebIdentityToken: token,
  };
  return await assumed(form, undefined, { settings: { stsUrl }, region, means, signal });
}

/** Takes a role with other keys. @throws ReferenceProblem */
export async function roleByKeys(
  role: {
    readonly arn: string;
    readonly sessionName: string | undefined;
    readonly externalId: string | undefined;
  },
  keys: AwsKeys,
  call: Scope & { readonly means: Means; readonly signal: AbortSignal },
): Promise<Credential<AwsKeys>> {
  const form = {
    Action: 'AssumeRole',
    RoleArn: role.arn,
    RoleSessionName: role.sessionName ?? defaultSession,
    ...(role.externalId === undefined ? {} : { ExternalId: role.externalId }),
  };
  return await assumed(form, keys, call);
}

/** @param keys that sign the request; none for a token. */
async function assumed(
  form: Readonly<Record<string, string>>,
  keys: AwsKeys | undefined,
  { settings, region, means, signal }: Scope & { readonly means: Means; readonly signal: AbortSignal },
): Promise<Credential<AwsKeys>> {
  const url = new URL(`${settings.stsUrl ?? `https://sts.${region}.${domainOf(region)}`}/`);
  const body = new URLSearchParams({ ...form, Version: '2011-06-15' }).toString();
  const given = { 'content-type': 'application/x-www-form-urlencoded' };
  const scope = { region, service: 'sts', epochMs: means.epochMs() };
  const { host: _host, ...headers } = keys
    ? signedHeaders({ method: 'POST', url, headers: given, body }, scope, keys)
    : { ...given, host: '' };
  const answer = await means.http.request({ url, method: 'POST', headers, body }, signal);
  const texts = Object.fromEntries(
    ['AccessKeyId', 'SecretAccessKey', 'SessionToken', 'Expiration', 'Message'].map(
      (name) => [name, elementOf(answer.text, name)] as const,
    ),
  );
  if (answer.status !== 200) {
    throw refusal(who, { ...answer, text: JSON.stringify({ message: texts.Message ?? '' }) }, message);
  }
  const found = { ...texts, Token: texts.SessionToken };
  return credentialFrom(readAnswer(who, TemporaryKeys, { ...answer, text: JSON.stringify(found) }), means);
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
