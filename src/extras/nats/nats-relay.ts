import { setTimeout as sleep } from 'node:timers/promises';
import { connect, credsAuthenticator, errors, type NatsConnection } from '@nats-io/transport-node';
import { backoffDelayMs } from '@picket/lib/clock.ts';
import { AppError, toError } from '@picket/lib/errors.ts';
import type { Logger } from '@picket/lib/log.ts';
import { type NatsServers, natsServers } from '@picket/platform/config/nats-servers.ts';
import type { Relay } from '@picket/platform/store/engine/signals.ts';

const connectMs = 2_000;
/** How long the server may take for a message before it counts as unavailable. */
const carryMs = 2_000;
/** A dead connection is detected after two of them. */
const pingMs = 5_000;
const longestPauseMs = 5_000;
/** A longer message on the subject is not ours. */
const longestMessage = 262_144;

/** Receives messages of other processes, and is notified if messages may have been missed. */
export interface RelayListener {
  receive(message: string): void;
  missed(): void;
}

/** NATS_URL and NATS_CREDENTIALS. */
export interface NatsAccess {
  readonly url: string;
  /** The content of a `.creds` file. */
  readonly credentials?: string | undefined;
}

export interface NatsOptions extends NatsAccess {
  /** Subject that only the processes of one database use. */
  readonly subject: string;
  readonly logger: Logger;
}

/**
 * Messages between service processes over NATS, which stores nothing: a disconnected process misses them.
 *
 * Connected → away: the server closed the connection, did not take a message in time or revoked the permission to
 * publish or subscribe. Away → connected: an attempt, with growing delays, succeeds; the listener checks for missed
 * changes. While away, `carry` returns false, and the messages go through the database.
 */
export class NatsRelay implements Relay {
  readonly #options: NatsOptions;
  readonly #servers: NatsServers;
  #listener: RelayListener | undefined;
  #connection: NatsConnection | undefined;
  #isClosed = false;
  #failures = 0;
  #reopening: NodeJS.Timeout | undefined;
  #lastReason: string | undefined;

  constructor(options: NatsOptions) {
    this.#options = options;
    this.#servers = natsServers(options.url);
  }

  get isConnected(): boolean {
    return this.#connection !== undefined;
  }

  /**
   * Connects. If the server is unavailable, it keeps retrying.
   *
   * @throws AppError CONFIG_INVALID if the server refuses the credentials, or the subject.
   */
  async open(listener: RelayListener): Promise<void> {
    this.#listener = listener;
    try {
      await this.#connect();
    } catch (thrown) {
      const error = toError(thrown);
      if (isRefusal(error)) {
        throw new AppError('CONFIG_INVALID', `NATS_URL: ${this.#place} ${refusal(error, this.#options)}.`, {
          cause: error,
        });
      }
      this.#away(error);
    }
  }

  async carry(messages: readonly string[]): Promise<boolean> {
    const connection = this.#connection;
    if (!connection) return false;
    try {
      for (const message of messages) connection.publish(this.#options.subject, message);
      await answered(connection);
    } catch (thrown) {
      this.#lost(connection, toError(thrown));
    }
    // The server may have refused the messages, which it reports separately.
    return connection === this.#connection;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#reopening);
    const connection = this.#connection;
    this.#connection = undefined;
    await connection?.close();
  }

  get #place(): string {
    return this.#servers.hosts.join(', ');
  }

  async #connect(): Promise<void> {
    const { credentials, subject } = this.#options;
    const { hosts, hasTls, user, password, token } = this.#servers;
    const connection = await connect({
      servers: [...hosts],
      name: 'picket service',
      // This class reconnects, with its own delays, and always knows whether there is a connection.
      reconnect: false,
      noEcho: true,
      timeout: connectMs,
      pingInterval: pingMs,
      maxPingOut: 2,
      ...(hasTls ? { tls: {} } : {}),
      ...(credentials === undefined
        ? { user, pass: password, token }
        : { authenticator: credsAuthenticator(new TextEncoder().encode(`${credentials}\n`)) }),
    });
    try {
      const refused = Promise.withResolvers<never>();
      // It may reject after the race below is over.
      refused.promise.catch(() => undefined);
      void this.#watch(connection, refused.reject);
      connection.subscribe(subject, {
        callback: (error, message) => {
          if (!error && message.data.length <= longestMessage) this.#listener?.receive(message.string());
        },
      });
      // The message has no effect; before its reply the server reports a missing permission to publish or subscribe.
      connection.publish(subject, '');
      await Promise.race([answered(connection), refused.promise]);
      // A refusal arrives before the reply, but is reported a turn later.
      await Promise.race([new Promise(setImmediate), refused.promise]);
    } catch (thrown) {
      await connection.close();
      throw thrown;
    }
    if (this.#isClosed) {
      await connection.close();
      return;
    }
    this.#connection = connection;
    this.#failures = 0;
    this.#lastReason = undefined;
    this.#options.logger.info({ nats: this.#place }, 'signals of other processes come over NATS');
    void connection.closed().then((error) => this.#lost(connection, error ?? endedError()));
  }

  async #watch(connection: NatsConnection, onRefused: (error: Error) => void): Promise<void> {
    for await (const status of connection.status()) {
      if (status.type !== 'error') continue;
      onRefused(status.error);
      this.#lost(connection, status.error);
    }
  }

  #lost(connection: NatsConnection, error: Error): void {
    if (connection !== this.#connection || this.#isClosed) return;
    this.#connection = undefined;
    this.#away(error);
    // It is already lost, and the reason was logged.
    connection.close().catch(() => undefined);
  }

  #away(error: Error): void {
    const reason = isRefusal(error) ? refusal(error, this.#options) : error.message;
    if (reason !== this.#lastReason) {
      this.#lastReason = reason;
      this.#options.logger.warn(
        { nats: this.#place, reason },
        'NATS is unavailable; signals go through the database until it is back',
      );
    }
    const delayMs = 100 + backoffDelayMs(this.#failures, { baseMs: 200, capMs: longestPauseMs });
    this.#failures += 1;
    this.#reopening = setTimeout(() => {
      this.#connect().then(
        () => this.#listener?.missed(),
        (thrown: unknown) => {
          if (!this.#isClosed) this.#away(toError(thrown));
        },
      );
    }, delayMs);
  }
}

/** Waits until the server has processed everything sent so far. */
async function answered(connection: NatsConnection): Promise<void> {
  const timer = new AbortController();
  const late = sleep(carryMs, undefined, { signal: timer.signal }).then(
    () => Promise.reject(new Error(`no answer within ${carryMs / 1000} s`)),
    () => undefined,
  );
  const ended = connection.closed().then((error) => Promise.reject(error ?? endedError()));
  try {
    await Promise.race([connection.flush(), late, ended]);
  } finally {
    timer.abort();
  }
}

const endedError = () => new Error('the connection ended');

/** Errors that a retry does not cure: credentials and permissions. */
function isRefusal(error: Error): boolean {
  return (
    error instanceof errors.AuthorizationError ||
    error instanceof errors.UserAuthenticationExpiredError ||
    error instanceof errors.PermissionViolationError
  );
}

function refusal(error: Error, { subject }: NatsOptions): string {
  return error instanceof errors.PermissionViolationError
    ? `does not let this user publish and subscribe to "${subject}" (${error.message})`
    : `refuses the credentials (${error.message})`;
}
