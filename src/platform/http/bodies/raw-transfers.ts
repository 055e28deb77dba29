import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** Grace period for transfers once the service stops. */
const farewellMs = 2000;

/**
 * Artifact transfers in progress, in both directions. They can take minutes, and a stopping service does not wait that
 * long: it soon closes their connections. Agents then restart elsewhere, and clients request the missing range.
 */
export class RawTransfers {
  readonly #sockets = new Set<Socket>();
  #ended: PromiseWithResolvers<void> | undefined;

  constructor(app: FastifyInstance) {
    app.addHook('preClose', () => this.#end());
  }

  add(request: FastifyRequest, reply: FastifyReply): void {
    const { socket } = request.raw;
    // Injected requests have no socket that could hang.
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
