import { type ProviderAnswer, type ProviderRequest, ProviderServer } from './provider-server.ts';

const denied: ProviderAnswer = {
  status: 403,
  body: { errors: ['1 error occurred:\n\t* permission denied\n\n'] },
};
const answered = (body: object): ProviderAnswer => ({
  status: 200,
  body: { request_id: crypto.randomUUID(), lease_id: '', renewable: false, lease_duration: 0, ...body },
});

/**
 * A Vault with the exchanges of its API that agents use: AppRole and Kubernetes logins, renewal, both versions of the
 * key-value engine, and credentials with a lease.
 */
export class Vault implements AsyncDisposable {
  /** Secrets of version 2 at `kv/data/…`; null is a deleted version. */
  readonly versioned = new Map<string, Record<string, unknown> | null>();
  /** Secrets of version 1 at `old/…`. */
  readonly plain = new Map<string, Record<string, unknown>>();
  readonly tokens = new Set<string>();
  tokenSeconds = 3600;
  isRenewable = true;
  isSealed = false;
  /** Policies do not allow this path. */
  forbidden = '';
  leaseSeconds = 60;
  namespace: string | undefined;
  #issued = 0;
  #leases = 0;
  #server: ProviderServer | undefined;

  static async open(): Promise<Vault> {
    const vault = new Vault();
    vault.#server = await ProviderServer.open((request) => vault.#answer(request));
    return vault;
  }

  get server(): ProviderServer {
    if (!this.#server) throw new Error('not open');
    return this.#server;
  }

  #answer({ method, path, headers, body }: ProviderRequest): ProviderAnswer {
    if (headers['x-vault-request'] !== 'true') return { status: 412, body: { errors: ['missing header'] } };
    if (this.isSealed) return { status: 503, body: { errors: ['Vault is sealed'] } };
    if (headers['x-vault-namespace'] !== this.namespace)
      return { status: 404, body: { errors: ['no handler for route'] } };
    if (path.startsWith('/v1/auth/') && path.endsWith('/login')) return this.#login(path, body);
    const token = String(headers['x-vault-token']);
    if (!this.tokens.has(token)) return denied;
    if (path === '/v1/auth/token/lookup-self') {
      return answered({ data: { id: token, ttl: this.tokenSeconds, renewable: this.isRenewable } });
    }
    if (path === '/v1/auth/token/renew-self' && method === 'POST') {
      if (!this.isRenewable) return { status: 400, body: { errors: ['lease is not renewable'] } };
      return this.#auth(token);
    }
    if (path === this.forbidden) return denied;
    return this.#secret(path);
  }

  #login(path: string, body: string): ProviderAnswer {
    const given = JSON.parse(body) as Record<string, string>;
    const isRole = given.role_id === 'role-of-agents' && given.secret_id === 'secret-id-0123';
    const isPod = given.role === 'agents' && given.jwt === 'jwt-of-the-pod';
    const isAllowed = path === '/v1/auth/approle/login' ? isRole : isPod;
    if (!isAllowed) return { status: 400, body: { errors: ['invalid role or secret ID'] } };
    this.#issued += 1;
    const token = `hvs.issued-token-${this.#issued}`;
    this.tokens.add(token);
    return this.#auth(token);
  }

  #auth(token: string): ProviderAnswer {
    return answered({
      auth: { client_token: token, lease_duration: this.tokenSeconds, renewable: this.isRenewable },
    });
  }

  #secret(path: string): ProviderAnswer {
    const [place = ''] = path.split('?');
    if (place === '/v1/database/creds/app') {
      this.#leases += 1;
      return answered({
        lease_id: `database/creds/app/${this.#leases}`,
        lease_duration: this.leaseSeconds,
        data: { username: `user-of-lease-${this.#leases}`, password: `password-of-lease-${this.#leases}` },
      });
    }
    const old = this.plain.get(place.replace('/v1/old/', ''));
    if (place.startsWith('/v1/old/') && old) return answered({ lease_duration: 2_764_800, data: old });
    const data = this.versioned.get(place.replace('/v1/kv/data/', ''));
    if (!place.startsWith('/v1/kv/data/') || data === undefined) return { status: 404, body: { errors: [] } };
    const metadata = {
      version: 3,
      deletion_time: data === null ? '2026-11-01T00:00:00Z' : '',
      destroyed: false,
    };
    if (data === null) return { status: 404, body: { data: { data, metadata } } };
    return answered({ data: { data, metadata } });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
  }
}
