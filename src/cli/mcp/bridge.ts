import { type JSONRPCMessage, type JSONRPCRequest, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { toError } from '@picket/lib/errors.ts';
import type { ApiSettings } from '../api/settings.ts';

/** Longer than any operation of the service takes. */
const timeoutMs = 120_000;

const versionKey = 'io.modelcontextprotocol/protocolVersion';

/** Methods whose subject is also sent as a header, and the parameter that contains it. */
const subjects: Readonly<Record<string, string>> = { 'tools/call': 'name', 'resources/read': 'uri' };

/**
 * Forwards messages of a client on standard input to the MCP server of a service, and returns its responses. It does
 * not interpret them: the service defines the tools and authorizes calls.
 */
export class Bridge {
  readonly #url: URL;
  readonly #key: string;
  readonly #send: (message: JSONRPCMessage) => Promise<void>;
  /** Requests in flight, by id. */
  readonly #open = new Map<string | number, AbortController>();
  /** Protocol version agreed in the handshake, if there was one. */
  #version: string | undefined;

  /** @param send sends a message to the client. */
  constructor(
    settings: ApiSettings,
    { isWriting, send }: { isWriting: boolean; send: (message: JSONRPCMessage) => Promise<void> },
  ) {
    this.#url = new URL(`${settings.PICKET_URL.replace(/\/+$/, '')}/mcp`);
    if (isWriting) this.#url.searchParams.set('write', 'true');
    this.#key = settings.PICKET_API_KEY;
    this.#send = send;
  }

  /** Handles a message of the client. Errors become responses to it. */
  async handle(message: JSONRPCMessage): Promise<void> {
    // The service sends the client no requests, so it expects no responses.
    if (!('method' in message)) return;
    if (message.method === 'notifications/cancelled') {
      const { requestId } = (message.params ?? {}) as { readonly requestId?: string | number };
      if (requestId !== undefined) this.#open.get(requestId)?.abort();
      return;
    }
    if ('id' in message) await this.#answer(message);
  }

  /** Aborts all requests in flight. */
  close(): void {
    for (const controller of this.#open.values()) controller.abort();
  }

  async #answer(request: JSONRPCRequest): Promise<void> {
    const controller = new AbortController();
    this.#open.set(request.id, controller);
    try {
      const answer = await this.#ask(request, controller.signal);
      if (!controller.signal.aborted) await this.#send(answer);
    } finally {
      this.#open.delete(request.id);
    }
  }

  async #ask(request: JSONRPCRequest, signal: AbortSignal): Promise<JSONRPCMessage> {
    const refused = (message: string): JSONRPCMessage => ({
      jsonrpc: '2.0',
      id: request.id,
      error: { code: ProtocolErrorCode.InternalError, message },
    });
    const place = this.#url.origin + this.#url.pathname;
    try {
      const response = await fetch(this.#url, {
        method: 'POST',
        headers: { ...this.#headersFor(request), authorization: `Bearer ${this.#key}` },
        body: JSON.stringify(request),
        redirect: 'error',
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      });
      const text = await response.text();
      const said = parseJson(text);
      if (said?.['jsonrpc'] === '2.0') {
        this.#record(request, said);
        return said as JSONRPCMessage;
      }
      const message =
        typeof said?.['message'] === 'string' ? said['message'] : `${place} is not an MCP server.`;
      return refused(`The service refused (${response.status}): ${message}`);
    } catch (thrown) {
      const { cause, message } = toError(thrown);
      const reason = cause === undefined ? message : toError(cause).message;
      return refused(`The service at ${place} does not respond: ${reason}. PICKET_URL sets its address.`);
    }
  }

  #headersFor({ method, params }: JSONRPCRequest): Record<string, string> {
    const values = (params ?? {}) as Readonly<Record<string, unknown>>;
    const meta = (values['_meta'] ?? {}) as Readonly<Record<string, unknown>>;
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const version = meta[versionKey];
    if (typeof version !== 'string') {
      return {
        ...headers,
        ...(this.#version === undefined ? {} : { 'mcp-protocol-version': this.#version }),
      };
    }
    const subject = values[subjects[method] ?? ''];
    return {
      ...headers,
      'mcp-protocol-version': version,
      'mcp-method': headerValue(method),
      ...(typeof subject === 'string' ? { 'mcp-name': headerValue(subject) } : {}),
    };
  }

  #record({ method }: JSONRPCRequest, { result }: Readonly<Record<string, unknown>>): void {
    if (method !== 'initialize' || typeof result !== 'object' || result === null) return;
    const { protocolVersion } = result as { readonly protocolVersion?: unknown };
    if (typeof protocolVersion === 'string') this.#version = protocolVersion;
  }
}

/** Encodes a text for a header: anything but plain ASCII in Base64, with the protocol's marker. */
function headerValue(text: string): string {
  if (/^[\x21-\x7e]+(?: +[\x21-\x7e]+)*$/.test(text) && !text.startsWith('=?base64?')) return text;
  return `=?base64?${Buffer.from(text).toString('base64')}?=`;
}

function parseJson(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    // A proxy in front of a service sends pages of its own.
    return undefined;
  }
}
