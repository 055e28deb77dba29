import { type SettingTree, setting, type Values } from '@picket/lib/setting-tree.ts';
import { address, path, text } from '../../provider-settings.ts';

const mount = text.refine(
  (value) => value === undefined || /^[\w.-]+(?:\/[\w.-]+)*$/.test(value),
  'must be the path of an auth method, such as `kubernetes`',
);

/** Settings of HashiCorp Vault and OpenBao. The names are those of Vault's own client where it has one. */
export const vaultSettings = {
  url: setting('VAULT_ADDR', address, 'Address of Vault or OpenBao, for secrets from `vault:PATH#FIELD`'),
  namespace: setting('VAULT_NAMESPACE', text, 'Namespace of Vault in which secrets and auth methods are'),
  mount: setting('VAULT_AUTH_MOUNT', mount, 'Path of the auth method if it is not `approle` or `kubernetes`'),
  token: setting('VAULT_TOKEN', text, 'Token of Vault, a secret; the agent renews it if Vault allows that'),
  tokenPath: setting('VAULT_TOKEN_FILE', path, 'File with the token, read again at each login'),
  roleId: setting(
    'VAULT_ROLE_ID',
    text,
    'Role id of AppRole, the auth method of machines without a platform',
  ),
  secretId: setting('VAULT_SECRET_ID', text, 'Secret id of AppRole, a secret'),
  secretIdPath: setting('VAULT_SECRET_ID_FILE', path, 'File with the secret id, read again at each login'),
  kubernetesRole: setting(
    'VAULT_KUBERNETES_ROLE',
    text,
    'Role of the Kubernetes auth method: the agent logs in with the token of its service account',
  ),
  kubernetesTokenPath: setting(
    'VAULT_KUBERNETES_TOKEN_FILE',
    path
      .transform((value) => value ?? '/var/run/secrets/kubernetes.io/serviceaccount/token')
      .meta({ defaultText: '`/var/run/secrets/kubernetes.io/serviceaccount/token`' }),
    'File with that token, read again at each login',
  ),
} satisfies SettingTree;

export type VaultSettings = Values<typeof vaultSettings>;

/** Problems with these settings, as sentences. */
export function vaultProblems(settings: VaultSettings): string[] {
  const { url, token, tokenPath, roleId, secretId, secretIdPath, kubernetesRole } = settings;
  const problems = url === undefined ? ['VAULT_ADDR is required'] : [];
  const both = (first: unknown, second: unknown) => first !== undefined && second !== undefined;
  if (both(token, tokenPath)) problems.push('set either VAULT_TOKEN or VAULT_TOKEN_FILE');
  if (both(secretId, secretIdPath)) {
    problems.push('set either VAULT_SECRET_ID or VAULT_SECRET_ID_FILE');
  }
  const methods = [token ?? tokenPath, roleId, kubernetesRole].filter((one) => one !== undefined);
  if (methods.length !== 1) {
    problems.push(
      'set one way to log in: VAULT_TOKEN, VAULT_ROLE_ID with VAULT_SECRET_ID, or VAULT_KUBERNETES_ROLE',
    );
  }
  if (roleId === undefined && (secretId ?? secretIdPath) !== undefined) {
    problems.push('VAULT_ROLE_ID is required with VAULT_SECRET_ID');
  }
  return problems;
}
