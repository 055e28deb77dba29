import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { readOnlyState } from '../foreign-texts.ts';
import { withoutJit } from './without-jit.ts';

type ConnectCallback = ((error: Error) => void) | ((error: null, client: pg.Client) => void);

/** Splits a connection URL with several hosts (`a:5432,b:5432`) into one URL for each. */
export function urlsOfHosts(url: string): string[] {
  const parts = /^(postgres(?:ql)?:\/\/(?:[^@/?]*@)?)([^/?]*)(.*)$/.exec(url);
  if (!parts) return [url];
  const [, start = '', hosts = '', rest = ''] = parts;
  return hosts.split(',').map((host) => start + host + rest);
}

/**
 * The servers of a database, one of them accepting writes. Connections use the last known primary; if it is
 * unreachable, or has become a standby, the next host is tried.
 */
export class PostgresHosts {
  readonly #urls: readonly string[];
  readonly #config: pg.ClientConfig;
  readonly #hasSessions: boolean;
  #index = 0;

  /** @param hasSessions false behind a pooler whose next statement may use another session of the server. */
  constructor(url: string, config: pg.ClientConfig, hasSessions = true) {
    this.#urls = urlsOfHosts(url);
    this.#config = config;
    this.#hasSessions = hasSessions;
  }

  get count(): number {
    return this.#urls.length;
  }

  /** Client class for a pool: each client connects to the host presumed to accept writes. */
  clientClass(): typeof pg.Client {
    const hosts = this;
    return class extends pg.Client {
      readonly #url: string;

      constructor(config?: pg.ClientConfig) {
        const url = hosts.#urls[hosts.#index] ?? '';
        super({ ...config, connectionString: url });
        this.#url = url;
        // Without a listener, an error before the pool listens would end the process instead of failing the query.
        this.on('error', () => undefined);
      }

      override connect(): Promise<pg.Client>;
      override connect(callback: ConnectCallback): void;
      override connect(callback?: ConnectCallback): Promise<pg.Client> | undefined {
        const connected = this.#connect().then(() => this);
        if (!callback) return connected;
        const told = callback as (error: Error | null, client?: pg.Client) => void;
        connected.then((client) => told(null, client), told);
        return undefined;
      }

      async #connect(): Promise<void> {
        try {
          await super.connect();
          if (hosts.count > 1) await refuseStandby(this);
          if (hosts.#hasSessions) await this.query(withoutJit);
        } catch (thrown) {
          hosts.#failed(this.#url);
          throw thrown;
        }
      }
    };
  }

  /** Connects a separate client to the host that accepts writes. */
  async connect(options: pg.ClientConfig, prepare: (client: pg.Client) => void): Promise<pg.Client> {
    const Client = this.clientClass();
    return this.tryEach(async () => {
      const client = new Client({ ...this.#config, ...options });
      prepare(client);
      try {
        await client.connect();
      } catch (thrown) {
        await client.end().catch(() => undefined);
        throw thrown;
      }
      return client;
    });
  }

  /** Tries to connect once for each host. */
  async tryEach<T>(connect: () => Promise<T>): Promise<T> {
    for (let left = this.count - 1; ; left -= 1) {
      try {
        return await connect();
      } catch (thrown) {
        if (left <= 0) throw thrown;
        await sleep(20);
      }
    }
  }

  #failed(url: string): void {
    if (this.#urls[this.#index] === url) this.#index = (this.#index + 1) % this.#urls.length;
  }
}

async function refuseStandby(client: pg.Client): Promise<void> {
  const { rows } = await client.query(`select current_setting('transaction_read_only') as mode`);
  if (rows[0]?.mode !== 'on') return;
  await client.end();
  throw Object.assign(new Error('the server is a standby'), { code: readOnlyState });
}
