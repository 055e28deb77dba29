import { createRequire } from 'node:module';
import { toError } from '@picket/lib/errors.ts';
import { IcmpUnavailable } from '../backend.ts';
import { missingPackageIn } from './foreign-texts.ts';

/** A request as net-ping keeps it; our own fields are kept, too. */
export interface NetPingRequest {
  readonly id: number;
  /** Number of retries on silence. */
  readonly retries: number;
  /** Milliseconds from the send to the callback with `RequestTimedOutError`. */
  readonly timeout: number;
  readonly target: string;
  readonly callback: (error: Error | null) => void;
}

/** The parts of raw-socket's `Socket` that we use. */
export interface RawSocket {
  /** Receive buffer; longer packets are truncated. */
  buffer: Buffer;
  on(event: 'message', listener: (packet: Buffer, source: string) => void): this;
  removeAllListeners(event: 'message'): this;
  setOption(level: number, option: number, value: number): void;
  setOption(level: number, option: number, value: Buffer, sizeBytes: number): void;
}

/** The parts of net-ping's `Session` that we use or replace: it queues, sends, times out and sleeps when idle. */
export interface NetPingSession<Request extends NetPingRequest> {
  readonly sessionId: number;
  readonly socket: RawSocket;
  /** Returns a free request id; undefined if all 65535 are taken. */
  _generateId(): number | undefined;
  reqQueue(request: Request): void;
  reqRemove(id: number): Request | undefined;
  toBuffer(request: Request): Buffer;
  onBeforeSocketSend(request: Request): void;
  on(event: 'error', listener: (error: Error) => void): this;
  on(event: 'close', listener: () => void): this;
}

export interface NetPingLibrary {
  createSession(options: {
    readonly networkProtocol: number;
    readonly sessionId: number;
    readonly retries: number;
  }): NetPingSession<never>;
  readonly NetworkProtocol: { readonly IPv4: number; readonly IPv6: number };
  readonly RequestTimedOutError: new () => Error & { readonly name: 'RequestTimedOutError' };
}

/**
 * Loads net-ping and raw-socket. Main threads only: raw-socket registers itself once per process.
 *
 * @throws IcmpUnavailable if one of them is missing or does not load.
 */
export function loadNetPing(): NetPingLibrary {
  try {
    return createRequire(import.meta.url)('net-ping') as NetPingLibrary;
  } catch (thrown) {
    const { message } = toError(thrown);
    const missing = missingPackageIn(message);
    if (missing === 'net-ping') throw new IcmpUnavailable('the package net-ping is not installed');
    if (missing === 'raw-socket') throw new IcmpUnavailable('the package raw-socket is not built');
    throw new IcmpUnavailable(`net-ping cannot be loaded: ${message.split('\n', 1)[0]}`);
  }
}
