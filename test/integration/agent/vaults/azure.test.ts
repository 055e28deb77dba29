import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { OpenReferences } from '../../../helpers/vaults/open-references.ts';
import {
  type ProviderAnswer,
  type ProviderRequest,
  ProviderServer,
} from '../../../helpers/vaults/provider-server.ts';

const resource = 'https://vault.azure.net';

/** A Key Vault, the login of applications, and both forms of managed identities. */
class Azure implements AsyncDisposable {
  value = 'azure-password-1';
  issued = 0;
  server!: ProviderServer;

  static async open(): Promise<Azure> {
    const azure = new Azure();
    azure.server = await ProviderServer.open((request) => azure.#answer(request));
    return azure;
  }

  #answer({ path, headers, body }: ProviderRequest): ProviderAnswer {
    const url = new URL(path, 'http://azure');
    if (url.pathname === '/tenant-1/oauth2/v2.0/token') {
      const form = new URLSearchParams(body);
      const isKnown =
        form.get('client_secret') === 'client-secret-1' || form.get('client_assertion') === 'pod-token-1';
      const isRight = form.get('scope') === `${resource}/.default` && form.get('client_id') === 'client-1';
      if (!isKnown || !isRight) {
        const text = 'AADSTS7000215: Invalid client secret provided.';
        return { status: 401, body: { error: 'invalid_client', error_description: text } };
      }
      return this.#token({ expires_in: 3599 });
    }
    if (url.searchParams.get('resource') === resource) {
      const isAppService =
        url.pathname === '/msi/token' && headers['x-identity-header'] === 'identity-header-1';
      const isMachine = url.pathname === '/metadata/identity/oauth2/token' && headers.metadata === 'true';
      if (isAppService) return this.#token({ expires_on: String(Date.UTC(2026, 0, 1, 1) / 1000) });
      return isMachine
        ? this.#token({ expires_in: '3599' })
        : { status: 400, body: { error: 'invalid_request' } };
    }
    if (headers.authorization !== `Bearer azure-token-${this.issued}`) {
      return {
        status: 401,
        body: { error: { code: 'Unauthorized', message: 'AKV10022: Invalid audience.' } },
      };
    }
    if (url.pathname === '/secrets/forbidden') {
      return { status: 403, body: { error: { code: 'Forbidden', message: 'Caller is not authorized' } } };
    }
    if (url.pathname !== '/secrets/db-password' || !url.searchParams.has('api-version')) {
      return { status: 404, body: { error: { code: 'SecretNotFound', message: 'A secret was not found' } } };
    }
    return {
      status: 200,
      body: { value: this.value, id: 'https://x/secrets/db-password/1', attributes: {} },
    };
  }

  #token(life: object): ProviderAnswer {
    this.issued += 1;
    return {
      status: 200,
      body: { token_type: 'Bearer', access_token: `azure-token-${this.issued}`, ...life },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
  }
}

const application = (azure: Azure) => ({
  AZURE_TENANT_ID: 'tenant-1',
  AZURE_CLIENT_ID: 'client-1',
  AZURE_AUTHORITY_HOST: azure.server.url,
});

describe('secrets from Azure', () => {
  it.each([
    ['an application', (azure: Azure) => ({ ...application(azure), AZURE_CLIENT_SECRET: 'client-secret-1' })],
    [
      'App Service',
      (azure: Azure) => ({
        IDENTITY_ENDPOINT: `${azure.server.url}/msi/token`,
        IDENTITY_HEADER: 'identity-header-1',
      }),
    ],
    ['a virtual machine', (azure: Azure) => ({ AZURE_POD_IDENTITY_AUTHORITY_HOST: azure.server.url })],
  ])(
    'are read as %s, with a token that is kept until it ends or is refused',
    async (_what, environmentOf) => {
      await using azure = await Azure.open();
      await using opened = new OpenReferences({
        ...environmentOf(azure),
        SECRET_FROM_A: `azure:${azure.server.url}/secrets/db-password`,
      });
      expect((await opened.current()).values).toEqual({ SERVICE_SECRET_A: 'azure-password-1' });
      expect(opened.masked).toContain('azure-token-1');
      azure.value = 'azure-password-2';
      await opened.pass(300_000);
      expect((await opened.current()).values).toEqual({ SERVICE_SECRET_A: 'azure-password-2' });
      expect(azure.issued).toBe(1);
      azure.issued = 5;
      await opened.pass(300_000);
      expect(azure.issued).toBe(6);
      expect((await opened.current()).unavailable).toEqual([]);
      expect(opened.logged).not.toMatch(/azure-(?:token|password)|client-secret|identity-header/);
    },
  );

  it('are read with the federated token of a pod, whose file is read at each login', async () => {
    await using azure = await Azure.open();
    const folder = await mkdtemp(join(tmpdir(), 'azure-'));
    await writeFile(join(folder, 'token'), 'pod-token-1\n');
    await using opened = new OpenReferences({
      ...application(azure),
      AZURE_FEDERATED_TOKEN_FILE: join(folder, 'token'),
      SECRET_FROM_A: `azure:${azure.server.url}/secrets/db-password`,
    });
    expect((await opened.current()).values).toEqual({ SERVICE_SECRET_A: 'azure-password-1' });
    await rm(folder, { recursive: true });
  });

  it.each([
    ['none', { reason: 'NOT_FOUND', status: 404 }],
    [
      'forbidden',
      {
        reason: 'DENIED',
        status: 403,
        message: 'Azure Key Vault responded with 403 (Forbidden: Caller is not authorized)',
      },
    ],
  ])('that are not there (%s) have a reason', async (name, problem) => {
    await using azure = await Azure.open();
    await using opened = new OpenReferences({
      ...application(azure),
      AZURE_CLIENT_SECRET: 'client-secret-1',
      SECRET_FROM_A: `azure:${azure.server.url}/secrets/${name}`,
    });
    expect((await opened.current()).unavailable).toMatchObject([{ provider: 'azure', problem }]);
  });

  it.each([
    [{ SECRET_FROM_A: 'azure:my-vault' }, 'SECRET_FROM_A: must be'],
    [{ SECRET_FROM_A: 'azure:http://vault.example.com/secrets/a' }, 'SECRET_FROM_A: must be'],
    [{ SECRET_FROM_A: 'azure:my-vault/a', AZURE_CLIENT_SECRET: 'x' }, 'AZURE_TENANT_ID is required'],
  ])('need complete settings: %j', (environment, problem) => {
    expect(() => new OpenReferences(environment)).toThrow(problem);
  });
});
