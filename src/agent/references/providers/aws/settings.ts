import { type SettingTree, setting, type Values } from '@picket/lib/setting-tree.ts';
import { address, path, text } from '../../provider-settings.ts';

const region = text.refine(
  (value) => value === undefined || /^[a-z]{2,4}(?:-[a-z]+)+-\d{1,2}$/.test(value),
  'must be a region, such as `eu-central-1`',
);

/** Settings of AWS Secrets Manager: those that AWS's own programs read. */
export const awsSettings = {
  region: setting(
    'AWS_REGION',
    region,
    'Region of AWS, for secrets from `aws:NAME#FIELD`; an ARN has its own',
  ),
  defaultRegion: setting('AWS_DEFAULT_REGION', region, 'The same, if AWS_REGION is not set'),
  accessKeyId: setting('AWS_ACCESS_KEY_ID', text, 'Id of an access key of AWS'),
  secretAccessKey: setting('AWS_SECRET_ACCESS_KEY', text, 'The access key, a secret'),
  sessionToken: setting('AWS_SESSION_TOKEN', text, 'Session token of temporary keys, a secret'),
  profile: setting(
    'AWS_PROFILE',
    text,
    'Profile of `~/.aws/credentials` and `~/.aws/config` whose keys or role the agent takes; `default` is the one without a name',
  ),
  credentialsPath: setting(
    'AWS_SHARED_CREDENTIALS_FILE',
    path,
    'The first of these files, if it is elsewhere; then the profile is `default` unless AWS_PROFILE names another',
  ),
  configPath: setting('AWS_CONFIG_FILE', path, 'The second of these files, if it is elsewhere'),
  roleArn: setting('AWS_ROLE_ARN', text, 'Role of AWS that the agent takes with the token below (EKS: IRSA)'),
  webIdentityPath: setting('AWS_WEB_IDENTITY_TOKEN_FILE', path, 'File with the token of its service account'),
  roleSessionName: setting(
    'AWS_ROLE_SESSION_NAME',
    text,
    'Name of the session of that role, as the logs of AWS show it',
  ),
  containerUrl: setting(
    'AWS_CONTAINER_CREDENTIALS_FULL_URI',
    address,
    'Address of the credentials of a container (ECS, EKS Pod Identity): https, or on the host itself',
  ),
  containerPath: setting(
    'AWS_CONTAINER_CREDENTIALS_RELATIVE_URI',
    text.refine((value) => value === undefined || value.startsWith('/'), 'must begin with a slash'),
    'Path of these credentials at the agent of ECS',
  ),
  containerToken: setting('AWS_CONTAINER_AUTHORIZATION_TOKEN', text, 'Token for that address, a secret'),
  containerTokenPath: setting('AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE', path, 'File with that token'),
  metadataUrl: setting(
    'AWS_EC2_METADATA_SERVICE_ENDPOINT',
    address
      .transform((value) => value ?? 'http://169.254.169.254')
      .meta({ defaultText: '`http://169.254.169.254`' }),
    'Address of the metadata service of EC2, used without any of the credentials above',
  ),
  secretsUrl: setting(
    'AWS_ENDPOINT_URL_SECRETS_MANAGER',
    address,
    'Address of Secrets Manager if it is not the public one of the region, such as that of a VPC endpoint',
  ),
  stsUrl: setting(
    'AWS_ENDPOINT_URL_STS',
    address,
    'Address of the Security Token Service if it is not the public one of the region',
  ),
} satisfies SettingTree;

export type AwsSettings = Values<typeof awsSettings>;

/** Problems with these settings, as sentences. */
export function awsProblems(settings: AwsSettings, places: readonly string[]): string[] {
  const { accessKeyId, secretAccessKey, roleArn, webIdentityPath, containerUrl } = settings;
  const problems: string[] = [];
  if (places.some((place) => regionOf(place, settings) === undefined))
    problems.push('AWS_REGION is required');
  if (accessKeyId !== undefined && secretAccessKey === undefined) {
    problems.push('AWS_SECRET_ACCESS_KEY is required with AWS_ACCESS_KEY_ID');
  }
  if (webIdentityPath !== undefined && roleArn === undefined) {
    problems.push('AWS_ROLE_ARN is required with AWS_WEB_IDENTITY_TOKEN_FILE');
  }
  if (containerUrl !== undefined && !isTrusted(new URL(containerUrl))) {
    problems.push('AWS_CONTAINER_CREDENTIALS_FULL_URI must be https, or an address of the host itself');
  }
  return problems;
}

/** Region of a secret: that of its ARN, or of the settings. */
export function regionOf(place: string, settings: AwsSettings): string | undefined {
  return place.startsWith('arn:') ? place.split(':')[3] : (settings.region ?? settings.defaultRegion);
}

/** Hosts to which the token of a container may be sent without TLS: loopback, and those of ECS and EKS. */
function isTrusted({ protocol, hostname }: URL): boolean {
  const local = ['localhost', '127.0.0.1', '[::1]', '169.254.170.2', '169.254.170.23', '[fd00:ec2::23]'];
  return protocol === 'https:' || local.includes(hostname);
}
