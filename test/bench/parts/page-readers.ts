import { Agent, get, type IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

/** A browser as far as a service sees one: it is logged in, keeps its connection, and takes compressed pages. */
export class PageReader {
  readonly #url: string;
  readonly #cookie: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 2 });

  private constructor(url: string, cookie: string) {
    this.#url = url;
    this.#cookie = cookie;
  }

  static async login(url: string, key: string): Promise<PageReader> {
    const answer = await fetch(`${url}/login`, {
      method: 'POST',
      redirect: 'manual',
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' },
      body: new URLSearchParams({ key }),
    });
    const [cookie = ''] = (answer.headers.get('set-cookie') ?? '').split(';');
    if (answer.status !== 303 || cookie === '') throw new Error(`the login answered ${answer.status}`);
    return new PageReader(url, cookie);
  }

  /** Another browser of the same person. */
  another(): PageReader {
    return new PageReader(this.#url, this.#cookie);
  }

  /** @returns milliseconds from the request to the first byte of its answer, and to its last. */
  async load(path: string): Promise<{ firstByteMs: number; totalMs: number }> {
    const start = performance.now();
    const response = await this.#get(path);
    const firstByteMs = performance.now() - start;
    let size = 0;
    for await (const chunk of response) size += (chunk as Buffer).length;
    if (response.statusCode !== 200 || size < 500) throw new Error(`${path}: ${response.statusCode}`);
    return { firstByteMs, totalMs: performance.now() - start };
  }

  /** Follows what happens, as open pages do, until told to stop. */
  async follow(signal: AbortSignal, onChange: () => void): Promise<void> {
    while (!signal.aborted) {
      const response = await this.#get('/live?since=0', signal).catch(() => undefined);
      if (!response) return;
      try {
        for await (const chunk of response) if (String(chunk).includes('change')) onChange();
      } catch {
        // It was ended by us, or by the service, as it does now and then.
      }
      await delay(100);
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  #get(path: string, signal?: AbortSignal): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const request = get(`${this.#url}${path}`, {
        agent: this.#agent,
        headers: { cookie: this.#cookie, accept: 'text/html', 'accept-encoding': 'gzip' },
        ...(signal ? { signal } : {}),
      });
      request.once('response', resolve);
      request.once('error', reject);
    });
  }
}
