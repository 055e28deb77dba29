import { Agent, get, type IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';

/** A browser as a service sees it: it is logged in, keeps its connection, and accepts compressed pages. */
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

  /** Another browser of the same user. */
  another(): PageReader {
    return new PageReader(this.#url, this.#cookie);
  }

  /**
   * @returns milliseconds from the request to the first byte and to the last byte of the response, and the address for
   * the page's live updates.
   */
  async load(
    path: string,
    news?: string,
  ): Promise<{ firstByteMs: number; totalMs: number; live: string | undefined }> {
    const start = performance.now();
    const response = await this.#get(path, news === undefined ? {} : { 'x-picket-news': news });
    const firstByteMs = performance.now() - start;
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    const totalMs = performance.now() - start;
    const sent = Buffer.concat(chunks);
    if (response.statusCode !== 200 || sent.length < 500) throw new Error(`${path}: ${response.statusCode}`);
    const document = String(response.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent);
    const live = /<body data-live="([^"]+)"/.exec(document)?.[1]?.replaceAll('&amp;', '&');
    return { firstByteMs, totalMs, live };
  }

  /** Follows live updates, as open pages do, until aborted. */
  async follow(live: string, signal: AbortSignal, onChange: (news: string) => void): Promise<void> {
    while (!signal.aborted) {
      const response = await this.#get(live, {}, signal).catch(() => undefined);
      if (!response) return;
      try {
        for await (const chunk of response) {
          const news = /event: change\ndata: (\d+)/.exec(String(chunk))?.[1];
          if (news !== undefined) onChange(news);
        }
      } catch {
        // Ended by this client, or by the service, which does so occasionally.
      }
      await delay(100);
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  #get(path: string, own: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const request = get(`${this.#url}${path}`, {
        agent: this.#agent,
        headers: { ...own, cookie: this.#cookie, accept: 'text/html', 'accept-encoding': 'gzip' },
        ...(signal ? { signal } : {}),
      });
      request.once('response', resolve);
      request.once('error', reject);
    });
  }
}
