import { type SettingTree, setting, type Values } from '@picket/lib/setting-tree.ts';
import { address, path, text } from '../../provider-settings.ts';

/** Settings of Azure Key Vault: those that Azure's own libraries read. */
export const azureSettings = {
  tenantId: setting('AZURE_TENANT_ID', text, 'Tenant of Azure, for secrets from `azure:VAULT/NAME`'),
  clientId: setting(
    'AZURE_CLIENT_ID',
    text,
    'Client id of the application, or of the managed identity that the agent uses',
  ),
  clientSecret: setting('AZURE_CLIENT_SECRET', text, 'Client secret of the application, a secret'),
  clientSecretPath: setting('AZURE_CLIENT_SECRET_FILE', path, 'File with the client secret'),
  federatedPath: setting(
    'AZURE_FEDERATED_TOKEN_FILE',
    path,
    'File with the token of a service account (AKS: workload identity), in place of a client secret',
  ),
  authorityUrl: setting(
    'AZURE_AUTHORITY_HOST',
    address
      .transform((value) => value ?? 'https://login.microsoftonline.com')
      .meta({ defaultText: '`https://login.microsoftonline.com`' }),
    'Address at which the application logs in',
  ),
  identityUrl: setting(
    'IDENTITY_ENDPOINT',
    address,
    'Address of the managed identity in App Service and Container Apps',
  ),
  identityHeader: setting('IDENTITY_HEADER', text, 'Header for that address, a secret'),
  metadataUrl: setting(
    'AZURE_POD_IDENTITY_AUTHORITY_HOST',
    address
      .transform((value) => value ?? 'http://169.254.169.254')
      .meta({ defaultText: '`http://169.254.169.254`' }),
    'Address of the metadata service of virtual machines, used without any of the credentials above',
  ),
} satisfies SettingTree;

export type AzureSettings = Values<typeof azureSettings>;

/** Problems with these settings, as sentences. */
export function azureProblems(settings: AzureSettings): string[] {
  const { tenantId, clientId, clientSecret, clientSecretPath, federatedPath } = settings;
  const isApplication = (clientSecret ?? clientSecretPath ?? federatedPath) !== undefined;
  if (!isApplication) return [];
  return [
    ...(tenantId === undefined ? ['AZURE_TENANT_ID is required with a client secret or token'] : []),
    ...(clientId === undefined ? ['AZURE_CLIENT_ID is required with a client secret or token'] : []),
  ];
}
