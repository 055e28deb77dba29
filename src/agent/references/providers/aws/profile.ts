import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Credential } from '../../cached-credential.ts';
import { ReferenceProblem } from '../../problem.ts';
import { readSecretFile } from '../../read-file.ts';
import type { AwsSettings } from './settings.ts';
import type { AwsKeys } from './signature.ts';
import { roleByKeys } from './sts.ts';
import type { Means } from './temporary-keys.ts';

type Profile = Readonly<Record<string, string>>;

/** Keys in a file are read again after half of this: a person or a program may renew them. */
const fileKeysLifeMs = 300_000;
const mostRoles = 5;

/** Ways to log in that profiles may name and this agent does not have. */
const unsupported = ['credential_process', 'credential_source', 'sso_session', 'sso_start_url', 'mfa_serial'];

/** Whether the settings ask for a profile: a file that happens to be there is not read. */
export function usesProfile({ profile, credentialsPath, configPath }: AwsSettings): boolean {
  return profile !== undefined || credentialsPath !== undefined || configPath !== undefined;
}

/** Files that profiles are read from; none without one. */
export function profilePaths(settings: AwsSettings): string[] {
  if (!usesProfile(settings)) return [];
  const folder = join(homedir(), '.aws');
  return [
    settings.credentialsPath ?? join(folder, 'credentials'),
    settings.configPath ?? join(folder, 'config'),
  ];
}

/**
 * Keys of a profile, as the programs of AWS keep them in `~/.aws/credentials` and `~/.aws/config`: an access key, or a
 * role that another profile takes.
 *
 * @throws ReferenceProblem if the profile does not give any.
 */
export async function keysOfProfile(
  settings: AwsSettings,
  region: string,
  means: Means,
  signal: AbortSignal,
): Promise<Credential<AwsKeys>> {
  const [credentialsPath = '', configPath = ''] = profilePaths(settings);
  const credentials = await sectionsOf(credentialsPath);
  const config = await sectionsOf(configPath);
  if (!credentials && !config) {
    throw new ReferenceProblem('NOT_FOUND', `there is neither ${credentialsPath} nor ${configPath}`);
  }
  const find = (name: string): Profile => {
    const configured =
      config?.get(name === 'default' ? name : `profile ${name}`) ?? config?.get(`profile ${name}`);
    const own = credentials?.get(name);
    if (own || configured) return { ...configured, ...own };
    throw new ReferenceProblem('NOT_FOUND', `${credentialsPath} and ${configPath} have no profile ${name}`);
  };
  const keysOf = async (name: string, before: readonly string[]): Promise<Credential<AwsKeys>> => {
    const profile = find(name);
    const { role_arn: arn, source_profile: source } = profile;
    // A profile that names itself takes the role with its own keys.
    if (arn === undefined || before.includes(name)) return keysIn(name, profile, means);
    if (source === undefined) throw unusable(name, profile, 'has a role_arn without a source_profile');
    if (before.length >= mostRoles) throw unusable(name, profile, `is the role after ${mostRoles} others`);
    const { value } = await keysOf(source, [...before, name]);
    const role = { arn, sessionName: profile['role_session_name'], externalId: profile['external_id'] };
    return await roleByKeys(role, value, { settings, region, means, signal });
  };
  return await keysOf(settings.profile ?? 'default', []);
}

function keysIn(name: string, profile: Profile, { onCredential }: Means): Credential<AwsKeys> {
  const {
    aws_access_key_id: accessKeyId,
    aws_secret_access_key: secretAccessKey,
    aws_session_token: sessionToken,
  } = profile;
  if (!accessKeyId || !secretAccessKey) {
    throw unusable(name, profile, 'has no aws_access_key_id with an aws_secret_access_key');
  }
  onCredential(secretAccessKey);
  if (sessionToken) onCredential(sessionToken);
  const value = { accessKeyId, secretAccessKey, sessionToken: sessionToken || undefined };
  return { value, lifeMs: fileKeysLifeMs };
}

function unusable(name: string, profile: Profile, why: string): ReferenceProblem {
  const other = unsupported.find((key) => profile[key] !== undefined);
  const text = other === undefined ? why : `logs in by ${other}, which the agent does not support`;
  return new ReferenceProblem('UNUSABLE', `the profile ${name} ${text}`);
}

/** Sections of a file by name; undefined if there is no such file. */
async function sectionsOf(path: string): Promise<Map<string, Profile> | undefined> {
  try {
    return parsed(await readSecretFile(path));
  } catch (thrown) {
    if (!(thrown instanceof ReferenceProblem)) throw thrown;
    if (thrown.reason === 'NOT_FOUND') return undefined;
    throw new ReferenceProblem(thrown.reason, `${path}: ${thrown.message}`);
  }
}

/** The format of AWS: sections and `name = value`; indented lines belong to settings that this agent does not use. */
function parsed(text: string): Map<string, Profile> {
  const sections = new Map<string, Profile>();
  let section = '';
  for (const line of text.split(/\r?\n/)) {
    const [, name] = /^\[([^\]]+)\]/.exec(line) ?? [];
    if (name !== undefined) section = name.trim().replace(/\s+/g, ' ');
    const [, key, value] = /^(\w+)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (key !== undefined && value !== undefined) {
      sections.set(section, {
        ...sections.get(section),
        [key.toLowerCase()]: value.replace(/\s[#;].*$/, ''),
      });
    } else if (name !== undefined && !sections.has(section)) sections.set(section, {});
  }
  return sections;
}
