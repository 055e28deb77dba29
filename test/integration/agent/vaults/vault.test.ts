import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readAgentSettings } from '../../../../src/agent/config.ts';
import { OpenReferences } from '../../../helpers/vaults/open-references.ts';
import { Vault } from '../../../helpers/vaults/vault.ts';

const minuteMs = 60_000;

async function openVault(): Promise<Vault> {
  const vault = await Vault.open();
  vault.versioned.set('app', { password: 'vault-password-1', port: 5432 });
  vault.plain.set('app', { password: 'plain-password-1' });
  return vault;
}

const appRole = (vault: Vault) => ({
  VAULT_ADDR: vault.server.url,
  VAULT_ROLE_ID: 'role-of-agents',
  VAULT_SECRET_ID: 'secret-id-0123',
});

describe('secrets from Vault', () => {
  it('are fields of both versions of the key-value engine; one request serves all fields of a path', async () => {
    await using vault = await openVault();
    await using opened = new OpenReferences({
      ...appRole(vault),
      SECRET_FROM_A: 'vault:kv/data/app#password',
      SECRET_FROM_B: 'vault:kv/data/app#port',
      SECRET_FROM_C: 'vault:old/app#password',
    });
    const { values, unavailable } = await opened.current();
    expect(unavailable).toEqual([]);
    expect(values).toEqual({
      SERVICE_SECRET_A: 'vault-password-1',
      SERVICE_SECRET_B: '5432',
      SERVICE_SECRET_C: 'plain-password-1',
    });
    expect(vault.server.paths.sort()).toEqual([
      'GET /v1/kv/data/app',
      'GET /v1/old/app',
      'POST /v1/auth/approle/login',
    ]);
    expect(opened.masked).toEqual(
      expect.arrayContaining([
        'secret-id-0123',
        'hvs.issued-token-1',
        'vault-password-1',
        'plain-password-1',
      ]),
    );
    expect(opened.logged).not.toMatch(/password-1|hvs\.|secret-id/);
  });

  it('follow a rotation, stay while Vault is sealed, and are unavailable after the limit', async () => {
    await using vault = await openVault();
    await using opened = new OpenReferences({
      ...appRole(vault),
      SECRET_FROM_A: 'vault:kv/data/app#password',
    });
    await opened.current();
    vault.versioned.set('app', { password: 'vault-password-2' });
    await opened.pass(5 * minuteMs);
    const rotated = await opened.current();
    expect(rotated.values).toEqual({ SERVICE_SECRET_A: 'vault-password-2' });
    expect(rotated.others).toEqual(['vault-password-1']);
    vault.isSealed = true;
    for (let passed = 0; passed < 50; passed += 5) await opened.pass(5 * minuteMs);
    expect((await opened.current()).values).toEqual({ SERVICE_SECRET_A: 'vault-password-2' });
    expect(opened.references.states()).toMatchObject([
      { isAvailable: true, reason: 'FAILED', message: expect.stringContaining('503 (Vault is sealed)') },
    ]);
    for (let passed = 0; passed < 20; passed += 5) await opened.pass(5 * minuteMs);
    const gone = await opened.current();
    expect(gone.values).toEqual({});
    expect(gone.unavailable).toMatchObject([{ problem: { reason: 'FAILED', status: 503 } }]);
    expect(opened.logged.match(/secret cannot be fetched/g)).toHaveLength(1);
    vault.isSealed = false;
    await opened.pass(5 * minuteMs);
    expect((await opened.current()).values).toEqual({ SERVICE_SECRET_A: 'vault-password-2' });
    expect(opened.logged).toContain('secret is available again');
  });

  it('are not used after a failed fetch without SECRET_MAX_STALE_SECONDS', async () => {
    await using vault = await openVault();
    await using opened = new OpenReferences({
      ...appRole(vault),
      SECRET_MAX_STALE_SECONDS: '0',
      SECRET_FROM_A: 'vault:kv/data/app#password',
    });
    await opened.current();
    await opened.pass(4 * minuteMs);
    expect((await opened.current()).unavailable).toEqual([]);
    vault.isSealed = true;
    await opened.pass(minuteMs);
    expect((await opened.current()).unavailable).toHaveLength(1);
  });

  it('with a lease are fetched again before it ends, and not used after it', async () => {
    await using vault = await openVault();
    await using opened = new OpenReferences({
      ...appRole(vault),
      SECRET_FROM_USER: 'vault:database/creds/app#username',
      SECRET_FROM_PASSWORD: 'vault:database/creds/app#password',
    });
    const { values } = await opened.current();
    expect(values).toEqual({
      SERVICE_SECRET_USER: 'user-of-lease-1',
      SERVICE_SECRET_PASSWORD: 'password-of-lease-1',
    });
    await opened.pass(40_000);
    expect((await opened.current()).values.SERVICE_SECRET_USER).toBe('user-of-lease-2');
    vault.isSealed = true;
    await opened.pass(minuteMs);
    expect((await opened.current()).unavailable).toHaveLength(2);
  });

  it('are read with a token that is renewed before it ends', async () => {
    await using vault = await openVault();
    vault.tokens.add('hvs.given-token');
    vault.tokenSeconds = 120;
    await using opened = new OpenReferences({
      VAULT_ADDR: vault.server.url,
      VAULT_TOKEN: 'hvs.given-token',
      SECRET_FROM_A: 'vault:kv/data/app#password',
    });
    await opened.current();
    await opened.pass(61_000);
    expect(vault.server.paths).toContain('POST /v1/auth/token/renew-self');
    expect((await opened.current()).unavailable).toEqual([]);
  });

  it.each([
    [
      'cannot be renewed',
      (vault: Vault) => {
        vault.isRenewable = false;
      },
    ],
    ['was revoked', (vault: Vault) => vault.tokens.clear()],
  ])('need a new login when the token %s', async (_what, change) => {
    await using vault = await openVault();
    vault.tokenSeconds = 600;
    await using opened = new OpenReferences({
      ...appRole(vault),
      SECRET_FROM_A: 'vault:kv/data/app#password',
    });
    await opened.current();
    change(vault);
    vault.versioned.set('app', { password: 'vault-password-2' });
    await opened.pass(10 * minuteMs);
    expect((await opened.current()).values).toEqual({ SERVICE_SECRET_A: 'vault-password-2' });
    expect(vault.server.paths.filter((path) => path.endsWith('/login')).length).toBe(2);
  });

  it('are read with the service account of a pod, in a namespace, from an auth method elsewhere', async () => {
    await using vault = await openVault();
    vault.namespace = 'team-a';
    const folder = await mkdtemp(join(tmpdir(), 'vault-'));
    await writeFile(join(folder, 'token'), 'jwt-of-the-pod\n');
    await using opened = new OpenReferences({
      VAULT_ADDR: vault.server.url,
      VAULT_NAMESPACE: 'team-a',
      VAULT_AUTH_MOUNT: 'cluster-7/kubernetes',
      VAULT_KUBERNETES_ROLE: 'agents',
      VAULT_KUBERNETES_TOKEN_FILE: join(folder, 'token'),
      SECRET_FROM_A: 'vault:kv/data/app#password',
    });
    expect((await opened.current()).values).toEqual({ SERVICE_SECRET_A: 'vault-password-1' });
    expect(vault.server.paths[0]).toBe('POST /v1/auth/cluster-7/kubernetes/login');
    await rm(folder, { recursive: true });
  });

  it.each([
    ['kv/data/none#x', { reason: 'NOT_FOUND', status: 404, message: 'Vault responded with 404' }],
    ['kv/data/deleted#x', { reason: 'NOT_FOUND', status: 404 }],
    ['kv/data/app#none', { reason: 'NOT_FOUND', message: 'the content has no field "none"' }],
    ['kv/data/secret#x', { reason: 'DENIED', status: 403 }],
  ])('that are not there (%s) have a reason', async (place, problem) => {
    await using vault = await openVault();
    vault.versioned.set('deleted', null);
    vault.forbidden = '/v1/kv/data/secret';
    await using opened = new OpenReferences({ ...appRole(vault), SECRET_FROM_A: `vault:${place}` });
    expect((await opened.current()).unavailable).toMatchObject([
      { name: 'SERVICE_SECRET_A', provider: 'vault', problem },
    ]);
    await opened.pass(minuteMs);
    // A denied path is not a reason to log in again.
    expect(vault.server.paths.filter((path) => path.endsWith('/login'))).toHaveLength(1);
  });

  it('are not fetched with a wrong login, whose secret is not shown', async () => {
    await using vault = await openVault();
    await using opened = new OpenReferences({
      ...appRole(vault),
      VAULT_SECRET_ID: 'wrong-secret-id',
      SECRET_FROM_A: 'vault:kv/data/app#password',
    });
    const { unavailable } = await opened.current();
    expect(unavailable[0]?.problem.message).toContain('invalid role or secret ID');
    expect(opened.logged).not.toContain('wrong-secret-id');
  });

  it.each([
    [{}, 'SECRET_FROM_A: VAULT_ADDR is required'],
    [{ VAULT_ADDR: 'http://v:1' }, 'set one way to log in'],
    [{ VAULT_ADDR: 'http://v:1', VAULT_TOKEN: 'x', VAULT_ROLE_ID: 'y' }, 'set one way to log in'],
    [{ VAULT_ADDR: 'ftp://v' }, 'VAULT_ADDR: must be an http:// or https:// address'],
    [{ SECRET_FROM_A: 'vault:kv/data/app' }, 'must name a field'],
    [{ SECRET_FROM_A: 'vault:../sys/seal#x' }, 'SECRET_FROM_A: must be'],
    [{ SECRET_FROM_A: `vault:${'a/'.repeat(400)}!#x` }, 'SECRET_FROM_A: must be'],
  ])('need complete settings: %j', (environment, problem) => {
    const read = () =>
      readAgentSettings({
        ...{ API_KEY: 'pl_0123456789', SERVICE_URL: 'http://127.0.0.1:1' },
        ...{ SECRET_FROM_A: 'vault:kv/data/app#password', ...environment },
      });
    expect(read).toThrow(problem);
  });
});
