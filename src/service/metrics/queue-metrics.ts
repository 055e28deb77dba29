import type { QueueFigures } from '@picket/lib/turns/fair-queue.ts';
import { Counter, Gauge, type Registry } from 'prom-client';

/** A queue of a process that accounts share. */
export interface MeasuredQueue {
  figures(): QueueFigures;
}

/** Registers length and waiting time of the queues that accounts share, per process rather than per account. */
export function registerQueues(registers: Registry[], queues: readonly MeasuredQueue[]): void {
  const labelNames = ['queue'] as const;
  const gauge = (name: string, help: string) => new Gauge({ name, help, labelNames, registers });
  const counter = (name: string, help: string) => new Counter({ name, help, labelNames, registers });
  const waiting = gauge('picket_queue_waiting', 'Tasks that wait in the queue of this process');
  const oldest = gauge('picket_queue_oldest_wait_seconds', 'Waiting time of the oldest task in the queue');
  const begun = counter('picket_queue_begun_total', 'Tasks that left the queue');
  const waited = counter(
    'picket_queue_wait_seconds_total',
    'Total waiting time of tasks that left the queue',
  );
  const refused = counter(
    'picket_queue_refused_total',
    'Tasks refused because too many tasks of one account waited',
  );
  const dropped = counter('picket_queue_dropped_total', 'Tasks dropped because the client disconnected');
  for (const { name: queue, ...figures } of queues.map((one) => one.figures())) {
    waiting.set({ queue }, figures.waiting);
    oldest.set({ queue }, figures.oldestWaitMs / 1000);
    begun.inc({ queue }, figures.begun);
    waited.inc({ queue }, figures.waitedMs / 1000);
    refused.inc({ queue }, figures.refused);
    dropped.inc({ queue }, figures.dropped);
  }
}
