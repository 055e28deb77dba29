import { availableParallelism, loadavg, totalmem } from 'node:os';
import type { Clock } from '@picket/lib/clock.ts';
import type { AgentCondition } from '@picket/protocol/agent/agent-condition.ts';
import type { Delivery } from '../delivery/delivery.ts';
import { oneLine } from './description.ts';
import type { Dispatcher } from './dispatcher.ts';

/** Measures the load of the agent for its claims; all of it is known without a wait. */
export class ConditionMeter {
  readonly #parts: ConditionParts;
  #before: { readonly atMs: number; readonly cpuUs: number } | undefined;

  constructor(parts: ConditionParts) {
    this.#parts = parts;
  }

  read(): AgentCondition {
    const { dispatcher, delivery, spoolMaxBytes } = this.#parts;
    const { problem, facts } = delivery.spool.state;
    const limitBytes = process.constrainedMemory();
    return {
      cpuPercent: this.#cpuPercent(),
      hostLoad: loadavg()[0] ?? 0,
      hostCores: availableParallelism(),
      memoryBytes: process.memoryUsage.rss(),
      memoryFreeBytes: process.availableMemory(),
      // Without a limit the value exceeds any real memory size.
      memoryLimitBytes: limitBytes === 0 || limitBytes > 2 ** 50 ? totalmem() : limitBytes,
      lanes: Object.fromEntries(
        dispatcher.laneStates().map(({ lane, size, running, queued }) => [lane, { size, running, queued }]),
      ),
      spool: {
        results: delivery.reporter.waitingCount,
        sizeBytes: facts?.sizeBytes ?? 0,
        maxBytes: spoolMaxBytes,
        problem: problem === undefined ? null : oneLine(problem),
      },
    };
  }

  #cpuPercent(): number | null {
    const { user, system } = process.cpuUsage();
    const now = { atMs: this.#parts.clock.monotonicMs(), cpuUs: user + system };
    const before = this.#before;
    const elapsedMs = before === undefined ? 0 : now.atMs - before.atMs;
    // Over less than a second the value says little: the previous reference stays.
    if (before !== undefined && elapsedMs < 1_000) return null;
    this.#before = now;
    return before === undefined ? null : Math.round((now.cpuUs - before.cpuUs) / elapsedMs) / 10;
  }
}

interface ConditionParts {
  readonly clock: Clock;
  readonly dispatcher: Dispatcher;
  readonly delivery: Delivery;
  readonly spoolMaxBytes: number;
}
