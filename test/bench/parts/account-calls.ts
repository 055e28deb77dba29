import { randomUUID } from 'node:crypto';
import { Agent, fetch } from 'undici';

/** Calls of one client to a service, over connections of its own. */
export class AccountCalls {
  readonly #url: string;
  /** One connection per request, so that requests do not wait for each other. */
  readonly #dispatcher = new Agent({
    connections: null,
    pipelining: 1,
    headersTimeout: 120_000,
    bodyTimeout: 120_000,
  });

  constructor(url: string) {
    this.#url = url;
  }

  async call(
    key: string | null,
    method: string,
    path: string,
    body?: unknown,
    signal?: AbortSignal,
    // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  ): Promise<any> {
    const answer = await fetch(this.#url + path, {
      method,
      headers: {
        ...(key === null ? {} : { authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
      dispatcher: this.#dispatcher,
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text.slice(0, 300)}`);
    const isJson = answer.headers.get('content-type')?.includes('json') ?? false;
    return isJson && text !== '' ? JSON.parse(text) : text;
  }

  /** The first request of an agent, with the key of its location. */
  async claim(key: string, waitMs: number, signal?: AbortSignal): Promise<void> {
    const body = {
      agentId: randomUUID(),
      sessionId: randomUUID(),
      version: '8.0.0',
      platform: 'bench',
      checkTypes: ['URL'],
      freeSlots: { probe: 1, script: 0 },
      waitMs,
    };
    await this.call(key, 'POST', '/v1/agent/claims', body, signal);
  }
}
