import { isIP } from 'node:net';
import type { Clock } from '@picket/lib/clock.ts';
import { toError } from '@picket/lib/errors.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { Store } from '@picket/platform/store/store.ts';
import type { FastifyInstance } from 'fastify';
import type { ServiceNameRow } from './tables.ts';

const dayMs = 86_400_000;
/** How long after the last call a name counts as one of the service. */
export const rememberedMs = 30 * dayMs;
/** Anyone can send a probe with any host: such names must not fill the table, or displace others. */
const mostNames: Readonly<Record<ServiceNameRow['source'], number>> = { CALL: 10_000, PROBE: 1_000 };

const probePaths = /^\/(?:-\/|health(?:[/?]|$)|metrics(?:[/?]|$))/;

interface NameDeps {
  readonly store: Pick<Store, 'serviceNames'>;
  readonly clock: Pick<Clock, 'wallMs'>;
  readonly logger: Logger;
  /** Whether a page has proven the name: calls to it do not make it a name of the service. */
  readonly isOfPage: (name: string) => Promise<boolean>;
}

/**
 * Records the names by which agents, other authenticated clients, and probes call the service, so that no page can take
 * them. Kept in memory; a name is written when it is new, and once a day.
 */
export function recordServiceNames(app: FastifyInstance, { store, clock, logger, isOfPage }: NameDeps): void {
  const noted = { CALL: new Map<string, number>(), PROBE: new Map<string, number>() };
  app.addHook('onResponse', async (request) => {
    const isCall =
      request.caller !== undefined && request.caller !== null && request.caller.kind !== 'nobody';
    const source = isCall ? 'CALL' : probePaths.test(request.url) ? 'PROBE' : undefined;
    if (source === undefined) return;
    const name = request.hostname.toLowerCase().replace(/\.$/, '');
    if (!name.includes('.') || name.length > 253 || isIP(name) !== 0) return;
    const [known, seen] = [noted[source], clock.wallMs()];
    const last = known.get(name);
    if (last === undefined ? known.size >= mostNames[source] : seen - last < dayMs) return;
    known.set(name, seen);
    try {
      if (!(await isOfPage(name))) await store.serviceNames.record({ name, source, seen });
    } catch (thrown) {
      known.delete(name);
      logger.debug({ err: toError(thrown) }, 'failed to store a host name of the service; retrying');
    }
  });
}
