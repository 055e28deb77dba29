import type { Logger } from '@picket/lib/log.ts';
import type { FastifyInstance } from 'fastify';
import { type UnreadableValue, unreadableValues } from '../store/stored-json.ts';

/** Counts and logs unreadable stored values for the lifetime of the API. */
export function reportUnreadable(
  app: FastifyInstance,
  {
    metrics,
    logger,
  }: {
    readonly metrics: { countOddStored(kind: 'value' | 'answer', where: string): void };
    readonly logger: Logger;
  },
): void {
  const report = (message: unknown) => {
    const { column, reason } = message as UnreadableValue;
    metrics.countOddStored('value', column);
    logger.error({ column, reason }, 'a stored value cannot be read: it counts as empty');
  };
  unreadableValues.subscribe(report);
  app.addHook('onClose', async () => void unreadableValues.unsubscribe(report));
}
