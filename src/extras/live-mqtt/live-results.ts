import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { toError } from '@picket/lib/errors.ts';
import type { Logger } from '@picket/lib/log.ts';
import { hashKey } from '@picket/platform/ids/keys.ts';
import type { Store } from '@picket/platform/store/store.ts';
import type { FastifyInstance } from 'fastify';
import { WebSocketServer } from 'ws';
import { type Credentials, maxPacketBytes, Subscriber } from './subscriber.ts';
import { WatchedSuites } from './watched-suites.ts';

export interface LiveResultsDeps {
  readonly store: Store;
  readonly logger: Logger;
  readonly metrics: {
    /** Number of open connections of this process. */
    liveConnections: number;
    countLiveRefusal(reason: string): void;
  };
}

/** Limits of connections at one process: for one account, and for all accounts together. */
export const maxConnectionsPerAccount = 100;
const maxConnections = 2_000;
const checkKeysEveryMs = 60_000;
/** How long clients may take to close their connection when the service stops. */
const farewellMs = 1_000;
const subprotocol = 'mqtt';

/**
 * Live results of test sessions: MQTT 3.1.1 over WebSocket, on the port of the API. Clients can only subscribe, with a
 * key of the account.
 */
export function addLiveResults(app: FastifyInstance, deps: LiveResultsDeps): void {
  const { logger, metrics } = deps;
  const suites = new WatchedSuites(deps);
  const all = new Set<Subscriber>();
  const byAccount = new Map<string, Set<Subscriber>>();
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: maxPacketBytes,
    perMessageDeflate: false,
    handleProtocols: (offered) => (offered.has(subprotocol) ? subprotocol : false),
  });
  const subscriberDeps = {
    suites,
    isKeyOf: (credentials: Credentials) => isKeyOf(deps.store, credentials),
    admit(accountId: string, subscriber: Subscriber) {
      const own = byAccount.get(accountId) ?? new Set();
      if (own.size >= maxConnectionsPerAccount || metrics.liveConnections >= maxConnections) return false;
      byAccount.set(accountId, own.add(subscriber));
      metrics.liveConnections += 1;
      return true;
    },
    onEnd(subscriber: Subscriber) {
      all.delete(subscriber);
      for (const [accountId, own] of byAccount) {
        if (!own.delete(subscriber)) continue;
        metrics.liveConnections -= 1;
        if (own.size === 0) byAccount.delete(accountId);
      }
    },
    refused(reason: string, accountId?: string) {
      metrics.countLiveRefusal(reason);
      logger.info({ reason, accountId }, 'live results refused');
    },
  };
  const checking = setInterval(() => void endRevoked(all, deps), checkKeysEveryMs).unref();

  app.server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const offered = String(request.headers['sec-websocket-protocol'] ?? '').split(/\s*,\s*/);
    if (!offered.includes(subprotocol)) {
      refuseUpgrade(socket, 'Live results are sent in the WebSocket subprotocol "mqtt".');
      return;
    }
    server.handleUpgrade(request, socket, head, (connection) => {
      all.add(new Subscriber(connection, subscriberDeps));
    });
  });
  app.addHook('preClose', async () => {
    clearInterval(checking);
    suites.close();
    for (const subscriber of all) subscriber.end();
    const timer = setTimeout(() => {
      for (const subscriber of all) subscriber.terminate();
    }, farewellMs);
    timer.unref();
  });
}

async function isKeyOf(store: Pick<Store, 'accounts'>, { accountId, apiKey }: Credentials): Promise<boolean> {
  const key = apiKey === '' ? undefined : await store.accounts.findKey(hashKey(apiKey));
  return key?.account_id === accountId;
}

/** Keys may be revoked while a connection is open. */
async function endRevoked(all: ReadonlySet<Subscriber>, { store, logger }: LiveResultsDeps): Promise<void> {
  try {
    for (const subscriber of all) {
      const { credentials } = subscriber;
      if (credentials && !(await isKeyOf(store, credentials))) subscriber.end(1008, 'the key was revoked');
    }
  } catch (thrown) {
    logger.debug({ err: toError(thrown) }, 'failed to check the keys of live connections; retrying');
  }
}

function refuseUpgrade(socket: Duplex, message: string): void {
  const body = JSON.stringify({ statusCode: 400, error: 'Bad Request', message });
  socket.end(
    `HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
