import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { z } from 'zod';
import { Place } from './places.ts';

const State = z.object({
  apiKey: z.string(),
  servicePort: z.number(),
  healthPort: z.number(),
  targetPorts: z.object({
    http: z.number(),
    https: z.number(),
    closed: z.number(),
    // Absent in states of older builds.
    reset: z.number().default(0),
    expired: z.number().default(0),
    otherHost: z.number().default(0),
  }),
  location: Place.nullable(),
  /** The location with problems. */
  branch: Place.nullable().default(null),
  /** Names of the samples that were created: those that were deleted since are not created again. */
  samples: z.array(z.string()).default([]),
});
/** State that a start of Picket on this machine keeps for the next one in the same folder. */
export type State = z.infer<typeof State>;

/** Ports that users see. */
interface WantedPorts {
  readonly service: number;
  readonly health: number;
}

/**
 * The state of an earlier start in that folder, or a new one with a new key. Its ports are free. The service and the
 * agent get the wanted ports, or, for this time only, others, with a message.
 */
export async function loadState(
  folder: string,
  wanted: WantedPorts,
  say: (text: string) => void,
): Promise<State> {
  const path = join(folder, 'start.json');
  const stored = existsSync(path) ? State.safeParse(JSON.parse(readFileSync(path, 'utf8'))) : undefined;
  const state: State = stored?.success
    ? stored.data
    : {
        apiKey: `pa_${randomBytes(16).toString('hex')}`,
        servicePort: wanted.service,
        healthPort: wanted.health,
        targetPorts: { http: 0, https: 0, closed: 0, reset: 0, expired: 0, otherHost: 0 },
        location: null,
        branch: null,
        samples: [],
      };
  const found = async (port: number, whose: string) => {
    const free = await freePort(port);
    if (free !== port) say(`port ${port} is taken by another program: ${whose} gets ${free} this time`);
    return free;
  };
  state.servicePort = await found(wanted.service, 'the service');
  state.healthPort = await found(wanted.health, "the agent's health page");
  // A program may have started to listen where the sample expects a closed port.
  state.targetPorts.closed = await freePort(state.targetPorts.closed);
  return state;
}

export function saveState(folder: string, state: State): void {
  writeFileSync(join(folder, 'start.json'), JSON.stringify(state, null, 2), { mode: 0o600 });
}

/** The wanted port if it is free, otherwise any free one. */
async function freePort(wanted: number): Promise<number> {
  for (const port of [wanted, 0]) {
    const found = await new Promise<number | null>((resolve) => {
      const server = createServer();
      server.once('error', () => resolve(null));
      server.listen(port, '127.0.0.1', () => {
        const address = server.address();
        server.close(() => resolve(typeof address === 'object' && address ? address.port : null));
      });
    });
    if (found !== null) return found;
  }
  throw new Error('no free port');
}
