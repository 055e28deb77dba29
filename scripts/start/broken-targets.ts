import { createSocket } from 'node:dgram';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createAuthority } from '../../test/helpers/targets/certificates.ts';

/** Targets that each fail differently below HTTP, on ports of 127.0.0.1. */
export interface BrokenTargets {
  readonly ports: { readonly reset: number; readonly expired: number; readonly otherHost: number };
  /** PEM of the authority of their certificates, which are valid except for the intended defect. */
  readonly authority: string;
  close(): void;
}

/** @param wanted ports of an earlier start; any port is used for 0, or instead of one that is taken. */
export async function startBrokenTargets(
  wanted: BrokenTargets['ports'] = { reset: 0, expired: 0, otherHost: 0 },
): Promise<BrokenTargets> {
  const authority = await createAuthority('The authority of the samples');
  const expired = createHttpsServer(await authority.issue({ fromDays: -90, toDays: -3 }));
  const otherHost = createHttpsServer(await authority.issue({ hosts: ['other.example'] }));
  // Takes a request, and resets the connection without a response.
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

/** How long an agent is stopped: more than half of the response timeout, less than a lease. */
const heldMs = 6_000;

/**
 * A name server that never responds, and whose agent gets no processor time for most of its wait: the agent cannot know
 * whether a response arrived meanwhile. The failure is the agent's fault, not the name server's.
 *
 * @param hold stops or resumes the agent.
 */
export async function startStarvingTarget(
  hold: (isHeld: boolean) => void,
): Promise<{ port: number; close(): void }> {
  const socket = createSocket('udp4');
  let isHeld = false;
  socket.on('message', async () => {
    if (isHeld) return;
    isHeld = true;
    hold(true);
    await delay(heldMs);
    hold(false);
    isHeld = false;
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return { port: socket.address().port, close: () => void socket.close() };
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
