import type { Lane } from '@picket/checks/contract/check-type.ts';
import type { Logger } from '@picket/lib/log.ts';
import {
  type AppliedAgentSettings,
  concurrencyFields,
  type SentAgentSettings,
  severityOf,
} from '@picket/protocol/agent/agent-settings.ts';
import type { AgentSettings } from '../config.ts';

type Environment = Pick<AgentSettings, 'checkTypes' | 'laneSizes' | 'logLevel'>;

/**
 * The settings that the location asks of this agent, within the bounds of its environment: the service can make an agent do less, and
 * nothing that its operator did not permit. Each response to a claim brings it; a service that sends none asks nothing.
 */
export class LocationSettings {
  readonly #environment: Environment;
  readonly #log: Logger;
  #asked: SentAgentSettings | null = null;

  constructor(environment: Environment, log: Logger) {
    this.#environment = environment;
    this.#log = log;
  }

  /** Takes the settings of a response. */
  apply(asked: SentAgentSettings | null): void {
    if (JSON.stringify(asked) === JSON.stringify(this.#asked)) return;
    this.#asked = asked;
    const { logLevel } = this;
    const lanes = { probe: this.laneSize('probe'), script: this.laneSize('script') };
    // At the level that writes more, so that a log that falls silent says why.
    if (severityOf(logLevel) < severityOf(this.#log.level)) this.#log.level = logLevel;
    this.#log.info({ ...this.status, lanes }, 'settings of the location applied');
    this.#log.level = logLevel;
  }

  /** Whether the agent takes no new runs. */
  get isDraining(): boolean {
    return this.#asked?.isDraining ?? false;
  }

  /** Whether the agent may run a check type that its environment allows. */
  allows(checkType: string): boolean {
    const types = this.#asked?.checkTypes ?? [];
    return types.length === 0 || types.includes(checkType);
  }

  /** Runs of a lane at the same time. */
  laneSize(lane: Lane): number {
    return Math.min(this.#environment.laneSizes[lane], this.#asked?.[concurrencyFields[lane]] ?? Infinity);
  }

  /** The level that writes less. */
  get logLevel(): AgentSettings['logLevel'] {
    const own = this.#environment.logLevel;
    const asked = this.#asked?.logLevel ?? own;
    return severityOf(asked) > severityOf(own) ? (asked as AgentSettings['logLevel']) : own;
  }

  /** The settings in force, for claims and `/health`. */
  get status(): AppliedAgentSettings {
    return {
      logLevel: this.logLevel,
      isDraining: this.isDraining,
      revision: this.#asked?.revision ?? '',
    };
  }
}
