import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createAuthority } from '../../test/helpers/targets/certificates.ts';

/** Targets that fail below HTTP, each in a way of its own, on ports of 127.0.0.1. */
export interface BrokenTargets {
  readonly ports: { readonly reset: number; readonly expired: number; readonly otherHost: number };
  /** PEM of the authority that their certificates are of: nothing but what is broken is wrong with them. */
  readonly authority: string;
  close(): void;
}

/** @param wanted ports that they had before; 0, or one that is taken, for any. */
export async function startBrokenTargets(
  wanted: BrokenTargets['ports'] = { reset: 0, expired: 0, otherHost: 0 },
): Promise<BrokenTargets> {
  const authority = await createAuthority('The authority of the samples');
  const expired = createHttpsServer(await authority.issue({ fromDays: -90, toDays: -3 }));
  const otherHost = createHttpsServer(await authority.issue({ hosts: ['other.example'] }));
  // Takes a request, and breaks off before it answers.
  const reset = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('data', () => socket.resetAndDestroy());
  });
  const servers = { reset, expired, otherHost };
  const ports = {
    reset: await listen(reset, wanted.reset),
    expired: await listen(expired, wanted.expired),
    otherHost: await listen(otherHost, wanted.otherHost),
  };
  return {
    ports,
    authority: authority.cert,
    close: () => {
      for (const server of Object.values(servers)) server.close();
    },
  };
}

/** How long an agent is held: longer than a second, which targets wait for. */
const heldMs = 1_600;

/**
 * A target that gives up on who is silent for long, and sees to it that its agent is: while it is the agent's turn in the
 * handshake, the agent gets no processor time. What comes of it is the agent's fault, not the target's.
 *
 * @param hold stops the agent, or lets it go on.
 */
export async function startStarvingTarget(
  hold: (isHeld: boolean) => void,
): Promise<{ port: number; close(): void }> {
  const authority = await createAuthority();
  const inner = createHttpsServer(await authority.issue());
  const innerPort = await listen(inner, 0);
  const outer = createServer((socket) => {
    const behind = connect(innerPort, '127.0.0.1');
    for (const one of [socket, behind]) one.on('error', () => one.destroy());
    socket.once('data', async (hello) => {
      hold(true);
      behind.write(hello);
      behind.on('data', (answer) => socket.write(answer));
      await delay(heldMs);
      socket.resetAndDestroy();
      behind.destroy();
      hold(false);
    });
  });
  const port = await listen(outer, 0);
  return {
    port,
    close: () => {
      outer.close();
      inner.close();
    },
  };
}

export async function listen(server: Server, port: number): Promise<number> {
  const bind = (wanted: number) =>
    new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(wanted, '127.0.0.1', () => {
        server.off('error', reject);
        resolve();
      });
    });
  await bind(port).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE' || port === 0) throw error;
    return bind(0);
  });
  return (server.address() as AddressInfo).port;
}
