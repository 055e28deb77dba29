import type { LeasedRun, ResultReport } from '../../../src/protocol/agent/agent.ts';
import { FakeService } from '../../helpers/agent/fake-service/fake-service.ts';
import { type RunningAgent, startAgentProcess } from '../../helpers/picket-process.ts';

/** A whole agent process, and a service that leases it the runs of a benchmark and no others. */
export class AgentUnderLoad implements AsyncDisposable {
  readonly #service: FakeService;
  readonly #agent: RunningAgent;

  private constructor(service: FakeService, agent: RunningAgent) {
    this.#service = service;
    this.#agent = agent;
  }

  static async start(
    concurrency: number,
    more: Readonly<Record<string, string>> = {},
  ): Promise<AgentUnderLoad> {
    const service = new FakeService();
    await service.listen();
    const options = { serviceUrl: service.url, key: 'pl_0123456789abcdef' };
    const agent = await startAgentProcess(options, { PROBE_CONCURRENCY: String(concurrency), ...more });
    return new AgentUnderLoad(service, agent);
  }

  get pid(): number {
    return this.#agent.process.pid;
  }

  /** Number of results since the last `collect`. */
  get resultCount(): number {
    return this.#service.receipts.length;
  }

  /** The report for a run so far. */
  resultOf(runId: string): ResultReport | undefined {
    return this.#service.resultOf(runId);
  }

  lease(...runs: LeasedRun[]): void {
    this.#service.enqueue(...runs);
  }

  /** Leases runs so that `inFlight` of them are active at any time, until each has its result. */
  async runClosedLoop(runs: readonly LeasedRun[], inFlight: number, timeoutMs = 300_000): Promise<void> {
    let leased = 0;
    const isDone = () => {
      const wanted = Math.min(runs.length, this.resultCount + inFlight);
      if (wanted > leased) {
        const next = runs.slice(leased, wanted);
        leased = wanted;
        this.#service.enqueue(...next);
      }
      return this.resultCount >= runs.length;
    };
    await this.#service.waitFor(`${runs.length} results`, isDone, timeoutMs);
  }

  async untilResults(count: number, timeoutMs = 120_000): Promise<void> {
    await this.#service.waitFor(`${count} results`, () => this.resultCount >= count, timeoutMs);
  }

  /** Returns the results and forgets them. */
  collect(): ResultReport[] {
    const results = [...this.#service.results];
    this.#service.results.length = 0;
    this.#service.receipts.length = 0;
    this.#service.calls.length = 0;
    return results;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent[Symbol.asyncDispose]();
    await this.#service.close();
  }
}
