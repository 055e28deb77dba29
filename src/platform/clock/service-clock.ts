import type { Clock } from '@picket/lib/clock.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { Store } from '../store/store.ts';
import { DatabaseClock } from './database-clock.ts';
import { SteadyClock } from './steady-clock.ts';

/**
 * Opens the clock that dates slots, leases, results and stored rows: the database's if several processes may share it,
 * else the host's without its jumps.
 */
export async function openServiceClock(
  store: Pick<Store, 'readClockMs'>,
  host: Clock,
  logger: Logger,
): Promise<Clock & { close(): void }> {
  if (!store.readClockMs) return SteadyClock.open({ host, logger });
  return DatabaseClock.open({ host, readMs: store.readClockMs, logger });
}
