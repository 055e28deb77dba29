import {
  generate,
  type IConnectPacket,
  type IPublishPacket,
  type ISubscribePacket,
  type Packet,
  parser,
} from 'mqtt-packet';
import type { WebSocket } from 'ws';
import { readFilter } from './topic.ts';
import type { Follower, WatchedSuites } from './watched-suites.ts';

/** The account and key in a CONNECT packet. */
export interface Credentials {
  readonly accountId: string;
  readonly apiKey: string;
}

/** Dependencies of a subscriber. */
export interface SubscriberDeps {
  readonly suites: WatchedSuites;
  /** Whether the key belongs to the account. */
  readonly isKeyOf: (credentials: Credentials) => Promise<boolean>;
  /** Reserves a connection of an account; false if a limit is reached. */
  readonly admit: (accountId: string, subscriber: Subscriber) => boolean;
  readonly onEnd: (subscriber: Subscriber) => void;
  /** Reports why a request was refused. */
  readonly refused: (reason: RefusedReason, accountId?: string) => void;
}

export type RefusedReason =
  | 'protocol'
  | 'credentials'
  | 'foreign-topic'
  | 'too-many-topics'
  | 'too-many-connections'
  | 'slow-reader';

const connectWithinMs = 10_000;
const longestSilenceMs = 10 * 60_000;
/** A client that only subscribes never sends a larger packet. */
export const maxPacketBytes = 64 * 1024;
const maxTopics = 20;
const maxQueuedBytes = 4 * 1024 * 1024;

/** Return codes of CONNACK (MQTT 3.1.1, 3.2.2.3). */
const connack = { accepted: 0, version: 1, unavailable: 3, badCredentials: 4, notAuthorized: 5 } as const;
const refusedTopic = 0x80;
/** Close codes of WebSocket. */
const closed = { normal: 1000, goingAway: 1001, protocol: 1002, policy: 1008, tryAgain: 1013 } as const;

/**
 * A connection that supports the part of MQTT 3.1.1 needed to subscribe.
 *
 * After the connection opens, the client has ten seconds to send CONNECT with an account and one of its keys. Then it
 * is connected, or is refused with the reason and closed. Once connected, it may subscribe to suites of its own account
 * (its SUBACK refuses any other filter), unsubscribe and ping. Any other packet, above all a message, closes the
 * connection.
 *
 * The connection also ends if the client disconnects, is silent for one and a half times its keep-alive, leaves more
 * than 4 MB unread, or if its key no longer belongs to the account. Clients then reconnect by themselves, and get the
 * events that they missed.
 */
export class Subscriber {
  readonly #socket: WebSocket;
  readonly #deps: SubscriberDeps;
  readonly #followers = new Map<string, Follower>();
  readonly #parser = parser({ protocolVersion: 4 });
  #silence: NodeJS.Timeout;
  #silenceMs = connectWithinMs;
  #unparsedBytes = 0;
  #credentials: Credentials | undefined;
  /** Packets are handled one at a time. */
  #last: Promise<void> = Promise.resolve();

  constructor(socket: WebSocket, deps: SubscriberDeps) {
    this.#socket = socket;
    this.#deps = deps;
    this.#silence = setTimeout(
      () => this.end(closed.policy, 'the connection was silent for too long'),
      this.#silenceMs,
    );
    this.#parser.on('packet', (packet) => {
      this.#unparsedBytes = 0;
      this.#last = this.#last
        .then(() => this.#handlePacket(packet))
        .catch(() => this.end(closed.tryAgain, 'the database is unavailable'));
    });
    this.#parser.on('error', (error) => this.#break(error.message));
    socket.on('message', (data: Buffer, isBinary) => this.#read(data, isBinary));
    // An error of the connection closes it, which "close" reports.
    socket.on('error', () => socket.terminate());
    socket.once('close', () => this.#leave());
  }

  get credentials(): Credentials | undefined {
    return this.#credentials;
  }

  end(code: number = closed.goingAway, reason = 'the service is stopping'): void {
    this.#socket.close(code, reason);
  }

  /** Closes at once, for a client that no longer responds. */
  terminate(): void {
    this.#socket.terminate();
  }

  #leave(): void {
    clearTimeout(this.#silence);
    for (const follower of this.#followers.values()) this.#deps.suites.leave(follower);
    this.#followers.clear();
    this.#deps.onEnd(this);
  }

  #read(data: Buffer, isBinary: boolean): void {
    if (!isBinary) {
      this.#break('MQTT is sent in binary messages');
      return;
    }
    this.#restartSilenceTimer();
    this.#unparsedBytes += data.length;
    this.#parser.parse(data);
    if (this.#unparsedBytes > maxPacketBytes) this.#break(`a packet has at most ${maxPacketBytes} bytes`);
  }

  #restartSilenceTimer(): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(
      () => this.end(closed.policy, 'the connection was silent for too long'),
      this.#silenceMs,
    );
  }

  #break(reason: string): void {
    this.#deps.refused('protocol', this.#credentials?.accountId);
    this.end(closed.protocol, reason.slice(0, 100));
  }

  async #handlePacket(packet: Packet): Promise<void> {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (packet.cmd === 'connect') return this.#connect(packet);
    if (!this.#credentials) return this.#break('CONNECT comes first');
    if (packet.cmd === 'subscribe') return this.#subscribe(this.#credentials, packet);
    if (packet.cmd === 'unsubscribe') {
      for (const filter of packet.unsubscriptions) this.#unsubscribe(filter);
      return this.#send({ cmd: 'unsuback', messageId: packet.messageId ?? 0, granted: [] });
    }
    if (packet.cmd === 'pingreq') return this.#send({ cmd: 'pingresp' });
    if (packet.cmd === 'disconnect') return this.end(closed.normal, '');
    this.#break(`subscribers do not send ${packet.cmd}`);
  }

  async #connect(packet: IConnectPacket): Promise<void> {
    if (this.#credentials) return this.#break('CONNECT comes once');
    const answer = (returnCode: number) => this.#send({ cmd: 'connack', returnCode, sessionPresent: false });
    const refuse = (returnCode: number, reason: RefusedReason, words: string) => {
      this.#deps.refused(reason, packet.username?.slice(0, 64));
      answer(returnCode);
      this.end(returnCode === connack.unavailable ? closed.tryAgain : closed.policy, words);
    };
    if (packet.protocolVersion !== 4) return refuse(connack.version, 'protocol', 'only MQTT 3.1.1 is spoken');
    if (packet.will)
      return refuse(connack.notAuthorized, 'protocol', 'subscribers do not publish, and cannot set a will');
    const credentials = {
      accountId: (packet.username ?? '').toLowerCase(),
      apiKey: packet.password?.toString('utf8') ?? '',
    };
    if (!(await this.#deps.isKeyOf(credentials))) {
      return refuse(
        connack.notAuthorized,
        'credentials',
        'the user is the id of an account, the password an active API key of it',
      );
    }
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (!this.#deps.admit(credentials.accountId, this)) {
      return refuse(connack.unavailable, 'too-many-connections', 'the account has too many connections');
    }
    this.#credentials = credentials;
    const keepAliveMs = (packet.keepalive ?? 0) * 1500;
    this.#silenceMs = keepAliveMs === 0 ? longestSilenceMs : Math.min(keepAliveMs, longestSilenceMs);
    this.#restartSilenceTimer();
    answer(connack.accepted);
  }

  #subscribe({ accountId }: Credentials, packet: ISubscribePacket): void {
    const granted = packet.subscriptions.map(({ topic: filter }) => {
      const topic = readFilter(filter);
      if (topic?.accountId !== accountId) {
        this.#deps.refused('foreign-topic', accountId);
        return refusedTopic;
      }
      this.#unsubscribe(filter);
      if (this.#followers.size >= maxTopics) {
        this.#deps.refused('too-many-topics', accountId);
        return refusedTopic;
      }
      this.#followers.set(filter, { topic, publish: (name, payload) => this.#publish(name, payload) });
      return 0;
    });
    this.#send({ cmd: 'suback', messageId: packet.messageId ?? 0, granted });
    // Clients understand events only after they know that they are subscribed.
    for (const { topic: filter } of packet.subscriptions) {
      const follower = this.#followers.get(filter);
      if (follower) this.#deps.suites.follow(follower);
    }
  }

  #unsubscribe(filter: string): void {
    const follower = this.#followers.get(filter);
    if (!follower) return;
    this.#deps.suites.leave(follower);
    this.#followers.delete(filter);
  }

  #publish(topic: string, payload: string): void {
    if (this.#socket.bufferedAmount > maxQueuedBytes) {
      this.#deps.refused('slow-reader', this.#credentials?.accountId);
      this.#socket.terminate();
      return;
    }
    const packet: IPublishPacket = { cmd: 'publish', topic, payload, qos: 0, dup: false, retain: false };
    this.#send(packet);
  }

  #send(packet: Packet): void {
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.send(generate(packet));
  }
}
