import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** How long transfers may go on once the service stops. */
const farewellMs = 2000;

/**
 * The artifacts on their way in and out. They can take minutes, and a service that stops does not wait for
 * that: after a short while their connections are closed. Agents then begin again elsewhere, and clients ask
 * for the range they miss.
 */
export class RawTransfers {
  readonly #sockets = new Set<Socket>();
  #ended: PromiseWithResolvers<void> | undefined;

  constructor(app: FastifyInstance) {
    app.addHook('preClose', () => this.#end());
  }

  add(request: FastifyRequest, reply: FastifyReply): void {
    const { socket } = request.raw;
    // Requests made without a network have none that could hang.
    if (typeof socket?.destroySoon !== 'function') return;
    this.#sockets.add(socket);
    reply.raw.once('close', () => {
      this.#sockets.delete(socket);
      if (this.#sockets.size === 0) this.#ended?.resolve();
    });
  }

  async #end(): Promise<void> {
    if (this.#sockets.size === 0) return;
    this.#ended = Promise.withResolvers();
    const timer = setTimeout(() => {
      for (const socket of this.#sockets) socket.destroy();
    }, farewellMs);
    await this.#ended.promise;
    clearTimeout(timer);
  }
}
