import { createVerify, generateKeyPairSync } from 'node:crypto';
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

const { publicKey, privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});

/** Secret Manager, the login of service accounts, and the metadata service. */
class Gcp implements AsyncDisposable {
  value = 'gcp-password-1';
  issued = 0;
  server!: ProviderServer;

  static async open(): Promise<Gcp> {
    const gcp = new Gcp();
    gcp.server = await ProviderServer.open((request) => gcp.#answer(request));
    return gcp;
  }

  #answer({ path, headers, body }: ProviderRequest): ProviderAnswer {
    if (path === '/token') return this.#login(new URLSearchParams(body).get('assertion') ?? '');
    if (path === '/computeMetadata/v1/instance/service-accounts/default/token') {
      return headers['metadata-flavor'] === 'Google' ? this.#token() : { status: 403 };
    }
    if (headers.authorization !== `Bearer gcp-token-${this.issued}`) {
      return { status: 401, body: { error: { status: 'UNAUTHENTICATED', message: 'invalid credentials' } } };
    }
    if (path.includes('/secrets/forbidden/')) {
      return { status: 403, body: { error: { status: 'PERMISSION_DENIED', message: 'no permission' } } };
    }
    if (!/^\/v1\/projects\/p-1\/secrets\/db\/versions\/(?:latest|3):access$/.test(path)) {
      return { status: 404, body: { error: { status: 'NOT_FOUND', message: 'Secret not found' } } };
    }
    return { status: 200, body: { name: path, payload: { data: btoa(this.value), dataCrc32c: '1' } } };
  }

  #login(assertion: string): ProviderAnswer {
    const [header = '', claims = '', signature = ''] = assertion.split('.');
    const isSigned = createVerify('RSA-SHA256')
      .update(`${header}.${claims}`)
      .verify(publicKey, signature, 'base64url');
    const { iss, aud } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as Record<string, string>;
    if (!isSigned || iss !== 'agent@p-1.example' || aud !== `${this.server.url}/token`) {
      return { status: 400, body: { error: 'invalid_grant', error_description: 'Invalid JWT Signature.' } };
    }
    return this.#token();
  }

  #token(): ProviderAnswer {
    this.issued += 1;
    return {
      status: 200,
      body: { access_token: `gcp-token-${this.issued}`, expires_in: 3599, token_type: 'Bearer' },
    };
  }

  /** Environment of an agent with the key of a service account, in a folder of its own. */
  async keyed(folder: string): Promise<Record<string, string>> {
    const path = join(folder, 'key.json');
    const account = {
      ...{ type: 'service_account', client_email: 'agent@p-1.example', private_key: privateKey },
      token_uri: `${this.server.url}/token`,
    };
    await writeFile(path, JSON.stringify(account));
    return {
      GOOGLE_APPLICATION_CREDENTIALS: path,
      CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER: this.server.url,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
  }
}

async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'gcp-'));
  try {
    await use(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

describe('secrets from Google Cloud', () => {
  it('are read with the key of a service account', () =>
    inFolder(async (folder) => {
      await using gcp = await Gcp.open();
      await using opened = new OpenReferences({
        ...(await gcp.keyed(folder)),
        SECRET_FROM_A: 'gcp:projects/p-1/secrets/db',
        SECRET_FROM_B: 'gcp:projects/p-1/secrets/db/versions/3',
      });
      const { values } = await opened.current();
      expect(values).toEqual({ SERVICE_SECRET_A: 'gcp-password-1', SERVICE_SECRET_B: 'gcp-password-1' });
      expect(opened.masked).toEqual(expect.arrayContaining([privateKey, 'gcp-token-1']));
      expect(gcp.issued).toBe(1);
    }));

  it('are read with the token of the metadata service, which is fetched anew when it is refused', async () => {
    await using gcp = await Gcp.open();
    await using opened = new OpenReferences({
      GCE_METADATA_HOST: new URL(gcp.server.url).host,
      CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER: gcp.server.url,
      SECRET_FROM_A: 'gcp:projects/p-1/secrets/db',
    });
    expect((await opened.current()).values).toEqual({ SERVICE_SECRET_A: 'gcp-password-1' });
    gcp.issued = 5;
    gcp.value = 'gcp-password-2';
    await opened.pass(300_000);
    expect((await opened.current()).values).toEqual({ SERVICE_SECRET_A: 'gcp-password-2' });
    expect(gcp.issued).toBe(6);
  });

  it.each([
    ['none', { reason: 'NOT_FOUND', status: 404 }],
    ['forbidden', { reason: 'DENIED', status: 403 }],
  ])('that are not there (%s) have a reason', (name, problem) =>
    inFolder(async (folder) => {
      await using gcp = await Gcp.open();
      await using opened = new OpenReferences({
        ...(await gcp.keyed(folder)),
        SECRET_FROM_A: `gcp:projects/p-1/secrets/${name}`,
      });
      expect((await opened.current()).unavailable).toMatchObject([{ provider: 'gcp', problem }]);
    }),
  );

  it('are not read with a file that holds no key, or a broken one, which is not shown', () =>
    inFolder(async (folder) => {
      await using gcp = await Gcp.open();
      for (const content of [
        'not JSON',
        '{"type":"authorized_user"}',
        '{"type":"service_account","client_email":"a","private_key":"broken-private-key"}',
      ]) {
        const environment = { ...(await gcp.keyed(folder)), SECRET_FROM_A: 'gcp:projects/p-1/secrets/db' };
        await writeFile(join(folder, 'key.json'), content);
        await using opened = new OpenReferences(environment);
        expect((await opened.current()).unavailable).toMatchObject([{ problem: { reason: 'UNUSABLE' } }]);
        expect(opened.logged).not.toContain('broken-private-key');
      }
    }));

  it('need the resource name of a secret', () => {
    const open = () => new OpenReferences({ SECRET_FROM_A: 'gcp:projects/p-1/../secrets/db' });
    expect(open).toThrow('SECRET_FROM_A: must be');
  });
});
