import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A target that holds requests until it is released, so that a test controls which runs are in flight. */
export interface HoldingTarget extends AsyncDisposable {
  readonly url: string;
  /** Paths of the requests that wait for a response. */
  waiting(): string[];
  /** Responds to waiting requests, and to new ones at once from now on. */
  release(): void;
}

export async function startHoldingTarget(): Promise<HoldingTarget> {
  const held = new Map<ServerResponse, string>();
  let isHolding = true;
  const answer = (response: ServerResponse) =>
    response.writeHead(200, { 'content-type': 'text/plain' }).end('ok');
  const server = createServer((request, response) => {
    if (!isHolding) {
      answer(response);
      return;
    }
    held.set(response, request.url ?? '');
    response.on('close', () => held.delete(response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    waiting: () => [...held.values()],
    release() {
      isHolding = false;
      for (const response of held.keys()) answer(response);
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
