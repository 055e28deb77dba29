import { generate, type Packet, parser } from 'mqtt-packet';
import { WebSocket } from 'ws';

/** A published message. */
export interface Heard {
  /** The last part of the topic. */
  readonly event: string;
  readonly topic: string;
  readonly payload: unknown;
}

/** A subscriber to live results that uses MQTT over WebSocket. */
export class MqttListener implements Disposable {
  readonly heard: Heard[] = [];
  /** Packets other than published messages, in order of arrival. */
  readonly answers: Packet[] = [];
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  readonly #socket: WebSocket;
  readonly #opened: Promise<void>;

  constructor(url: string, protocols: string[] = ['mqtt']) {
    this.#socket = new WebSocket(`${url.replace(/^http/, 'ws')}/?authenticationScheme=userApiKey`, protocols);
    const reading = parser({ protocolVersion: 4 });
    reading.on('packet', (packet) => {
      if (packet.cmd !== 'publish') {
        this.answers.push(packet);
        return;
      }
      const { topic } = packet;
      const event = topic.slice(topic.lastIndexOf('/') + 1);
      this.heard.push({ topic, event, payload: JSON.parse(packet.payload.toString()) });
    });
    this.#socket.on('message', (data: Buffer) => reading.parse(data));
    this.#opened = new Promise((resolve, reject) => {
      this.#socket.once('open', resolve).once('error', reject);
    });
    this.#opened.catch(() => undefined); // callers that wait for it get the error
    this.closed = new Promise((resolve) => {
      this.#socket.once('close', (code, reason) => resolve({ code, reason: reason.toString() }));
    });
  }

  /** Sends any packet once the connection is open. */
  async send(packet: Packet): Promise<void> {
    await this.sendBytes(generate(packet));
  }

  async sendBytes(bytes: Buffer): Promise<void> {
    await this.#opened;
    this.#socket.send(bytes);
  }

  async connect(username: string, password: string): Promise<void> {
    await this.send({
      cmd: 'connect',
      protocolId: 'MQTT',
      protocolVersion: 4,
      clean: true,
      clientId: 'test',
      keepalive: 60,
      username,
      password: Buffer.from(password),
    });
  }

  async subscribe(topic: string, messageId = 1): Promise<void> {
    await this.send({ cmd: 'subscribe', messageId, subscriptions: [{ topic, qos: 0 }] });
  }

  [Symbol.dispose](): void {
    this.#socket.terminate();
  }
}

/** The topic of a suite's messages. */
export function suiteTopic(accountId: string, suiteId: string): string {
  return `account/${accountId}/ad-hoc-check-results/${suiteId}/+/+/+`;
}
