import { type SettingTree, setting, type Values } from '@picket/lib/setting-tree.ts';
import { address, path, text } from '../../provider-settings.ts';

/** Settings of Google Secret Manager: those that Google's own programs read. */
export const gcpSettings = {
  keyPath: setting(
    'GOOGLE_APPLICATION_CREDENTIALS',
    path,
    'File with the key of a service account of Google Cloud, for secrets from `gcp:projects/P/secrets/NAME`; without it the metadata service gives a token',
  ),
  metadataHost: setting(
    'GCE_METADATA_HOST',
    text
      .refine(
        (value) => value === undefined || /^[\w.-]+(?::\d{1,5})?$/.test(value),
        'must be a host, or a host and a port',
      )
      .transform((value) => value ?? 'metadata.google.internal')
      .meta({ defaultText: '`metadata.google.internal`' }),
    'Host of the metadata service of Google Cloud',
  ),
  secretsUrl: setting(
    'CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER',
    address,
    'Address of Secret Manager if it is not the public one, such as that of a private endpoint',
  ),
} satisfies SettingTree;

export type GcpSettings = Values<typeof gcpSettings>;
