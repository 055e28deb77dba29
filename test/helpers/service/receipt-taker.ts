import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A proxy of a service that can lose the receipt of results after the service has sent it. */
export class ReceiptTaker {
  readonly #server: Server;
  /** Called instead of passing on the next receipts: at that moment the service has stored the results. */
  onReceipt: (() => void) | undefined;

  private constructor(serviceUrl: string) {
    this.#server = createServer((incoming, outgoing) => this.#pass(serviceUrl, incoming, outgoing));
  }

  static async open(serviceUrl: string): Promise<ReceiptTaker> {
    const taker = new ReceiptTaker(serviceUrl);
    await new Promise<void>((resolve) => taker.#server.listen(0, '127.0.0.1', resolve));
    return taker;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  #pass(serviceUrl: string, incoming: IncomingMessage, outgoing: ServerResponse): void {
    const { method, headers, url = '/' } = incoming;
    const passed = request(new URL(url, serviceUrl), { method, headers }, (answer) => {
      if (url.startsWith('/v1/agent/results') && answer.statusCode === 200 && this.onReceipt) {
        this.onReceipt();
        outgoing.destroy();
        answer.resume();
        return;
      }
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on('error', () => outgoing.destroy());
    incoming.on('error', () => passed.destroy());
    outgoing.on('close', () => passed.destroy());
    incoming.pipe(passed);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
