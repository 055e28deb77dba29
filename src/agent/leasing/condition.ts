import { availableParallelism, loadavg, totalmem } from 'node:os';
import type { Clock } from '@picket/lib/clock.ts';
import { errorCodeOf } from '@picket/lib/errors.ts';
import type { AgentCondition } from '@picket/protocol/agent/agent-condition.ts';
import type { Delivery } from '../delivery/delivery.ts';
import { oneLine } from './description.ts';
import type { Dispatcher } from './dispatcher.ts';

/** The system is asked this often: each time it reads several files, which costs as much as a few checks. */
const hostAgeMs = 1000;

/** Load of the process and its host, as the system reports it. */
type HostCondition = Omit<AgentCondition, 'lanes' | 'spool'>;

/** Measures the load of the agent for its claims; all of it is known without a wait. */
export class ConditionMeter {
  readonly #parts: ConditionParts;
  #before: CpuTime;
  #percent: number | null = null;
  #host: { readonly readAtMs: number; readonly condition: HostCondition } | undefined;

  constructor(parts: ConditionParts) {
    this.#parts = parts;
    this.#before = this.#cpuTime();
  }

  /** Returns null if the system does not say: without a free file descriptor it cannot be asked, and claims go on. */
  read(): AgentCondition | null {
    try {
      return this.#read();
    } catch (thrown) {
      if (errorCodeOf(thrown) === undefined) throw thrown;
      return null;
    }
  }

  #read(): AgentCondition {
    const { dispatcher, delivery, spoolMaxBytes } = this.#parts;
    const { problem, facts } = delivery.spool.state;
    return {
      ...this.#hostCondition(),
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

  #hostCondition(): HostCondition {
    const readAtMs = this.#parts.clock.monotonicMs();
    if (this.#host && readAtMs - this.#host.readAtMs < hostAgeMs) return this.#host.condition;
    const limitBytes = process.constrainedMemory();
    const condition: HostCondition = {
      cpuPercent: this.#cpuPercent(),
      hostLoad: loadavg()[0] ?? 0,
      hostCores: availableParallelism(),
      memoryBytes: process.memoryUsage.rss(),
      memoryFreeBytes: process.availableMemory(),
      // Without a limit the value exceeds any real memory size.
      memoryLimitBytes: limitBytes === 0 || limitBytes > 2 ** 50 ? totalmem() : limitBytes,
    };
    this.#host = { readAtMs, condition };
    return condition;
  }

  /** Over less than a second the value says little: the previous one stays. */
  #cpuPercent(): number | null {
    const now = this.#cpuTime();
    const elapsedMs = now.atMs - this.#before.atMs;
    if (elapsedMs < 1_000) return this.#percent;
    this.#percent = Math.round((now.cpuUs - this.#before.cpuUs) / elapsedMs) / 10;
    this.#before = now;
    return this.#percent;
  }

  #cpuTime(): CpuTime {
    const { user, system } = process.cpuUsage();
    return { atMs: this.#parts.clock.monotonicMs(), cpuUs: user + system };
  }
}

interface CpuTime {
  readonly atMs: number;
  readonly cpuUs: number;
}

interface ConditionParts {
  readonly clock: Clock;
  readonly dispatcher: Dispatcher;
  readonly delivery: Delivery;
  readonly spoolMaxBytes: number;
}
