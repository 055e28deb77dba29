import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { ServiceClient } from '../../src/agent/client/service-client.ts';
import { ServiceClock } from '../../src/agent/client/service-clock.ts';
import { retryDelayMs, ServiceError } from '../../src/agent/client/service-error.ts';
import { readAgentSettings } from '../../src/agent/config.ts';
import { readBack } from '../../src/agent/scrub/report-texts.ts';
import { systemClock } from '../../src/lib/clock.ts';
import type { LeasedRun } from '../../src/protocol/agent/agent.ts';
import { freePort } from '../helpers/free-port.ts';
import { createLocation, startServiceProcess } from '../helpers/picket-process.ts';
import { reportOf, temporaryFolder } from '../helpers/service/service.ts';
import { type Bench, numberOption } from './report.ts';

const longPollMs = 25_000;
const watchMs = 30_000;
const downMs = 5_000;

/** Makes the same calls as an agent: it claims, retries like an agent, and reports the runs it gets. */
class LightAgent {
  /** When each call began, in milliseconds of `performance.now()`. */
  readonly calls: number[] = [];
  /** When the last failed claim began. */
  lastFailureAtMs = 0;
  readonly #client: ServiceClient;
  readonly #stop = new AbortController();
  readonly done: Promise<void>;

  constructor(serviceUrl: string, key: string) {
    const settings = readAgentSettings({ API_KEY: key, SERVICE_URL: serviceUrl, AGENT_HEALTH_PORT: '0' });
    this.#client = new ServiceClient({
      settings,
      identity: { agentId: `light-${randomUUID()}`, sessionId: randomUUID() },
      version: '8.0.0',
      clock: systemClock,
      serviceClock: new ServiceClock(systemClock),
      onFailed: () => undefined,
      onRefused: () => undefined,
      onAnswered: () => undefined,
    });
    this.done = this.#work();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.done;
    await this.#client.close();
  }

  async #work(): Promise<void> {
    const { signal } = this.#stop;
    let failures = 0;
    while (!signal.aborted) {
      const startedAtMs = performance.now();
      this.calls.push(startedAtMs);
      try {
        const { body } = await this.#client.claim(
          {
            version: '8.0.0',
            platform: 'bench',
            runtimes: [],
            checkTypes: ['URL'],
            backends: {},
            unavailable: {},
            freeSlots: { probe: 100, script: 0 },
            waitMs: longPollMs,
          },
          signal,
        );
        failures = 0;
        if (body.runs.length > 0) await this.#report(body.runs as LeasedRun[]);
      } catch (thrown) {
        if (!(thrown instanceof ServiceError)) throw thrown;
        if (signal.aborted) return;
        this.lastFailureAtMs = startedAtMs;
        await systemClock.sleep(retryDelayMs(thrown, failures), signal);
        failures += 1;
      }
    }
  }

  async #report(runs: readonly LeasedRun[]): Promise<void> {
    this.calls.push(performance.now());
    await this.#client.report(
      runs.map((run) => {
        const { detail, ...envelope } = reportOf(run);
        return {
          envelopeJson: readBack(JSON.stringify(envelope)),
          detailJson: readBack(JSON.stringify(detail)),
        };
      }),
    );
  }
}

/** Calls in the busiest second between two instants. */
function busiestSecond(agents: readonly LightAgent[], fromMs: number, toMs: number): number {
  const seconds = new Map<number, number>();
  for (const atMs of agents.flatMap(({ calls }) => calls)) {
    if (atMs < fromMs || atMs >= toMs) continue;
    const second = Math.floor((atMs - fromMs) / 1000);
    seconds.set(second, (seconds.get(second) ?? 0) + 1);
  }
  return Math.max(0, ...seconds.values());
}

const bench: Bench = {
  usage: '[--agents=200] [--checks=600]',
  title: 'Agents that come back after a restart of the service',
  async run(run) {
    const agentCount = numberOption(run, 'agents', 200);
    const checkCount = numberOption(run, 'checks', 600);
    const folder = temporaryFolder();
    const environment = { DATA_DIR: folder.path, PORT: String(await freePort()) };
    let service = await startServiceProcess(environment);
    const agents: LightAgent[] = [];
    try {
      const location = await createLocation(service, 'many');
      for (let index = 0; index < checkCount; index += 1) {
        await service.api('POST', '/v1/checks/url', {
          name: `check ${index}`,
          frequency: 1,
          privateLocations: [location.slugName],
          request: { url: 'http://127.0.0.1/' },
        });
      }
      for (let index = 0; index < agentCount; index += 1) {
        agents.push(new LightAgent(service.url, location.key));
        await delay(watchMs / agentCount);
      }
      run.progress(`${agentCount} agents work; watching for ${watchMs / 1000} s`);
      const steadyFromMs = performance.now();
      await delay(watchMs);
      const steady = busiestSecond(agents, steadyFromMs, performance.now());
      run.progress(`busiest second: ${steady} calls; the service is killed`);
      await service.process.kill('SIGKILL');
      await delay(downMs);
      service = await startServiceProcess(environment);
      const backAtMs = performance.now();
      run.progress(`the service is back; watching for ${watchMs / 1000} s`);
      await delay(watchMs);
      const after = busiestSecond(agents, backAtMs, performance.now());
      const connected = agents.map(({ calls, lastFailureAtMs }) => {
        const first = calls.find((atMs) => atMs > lastFailureAtMs && atMs >= backAtMs);
        return first === undefined ? 0 : first - backAtMs;
      });
      const slowestMs = Math.max(...connected);
      return {
        columns: ['agents', 'busiest second before', 'after', 'ratio', 'last agent back after (s)'],
        rows: [
          [
            String(agentCount),
            String(steady),
            String(after),
            (after / steady).toFixed(2),
            (slowestMs / 1000).toFixed(1),
          ],
        ],
        notes: [
          `${checkCount} checks a minute. The service was killed and was down for ${downMs / 1000} s and its start; seconds count from its first good answer to the call of an agent that did not fail any more.`,
        ],
        figures: { ratio: (after / steady).toFixed(2), slowest_s: (slowestMs / 1000).toFixed(1) },
      };
    } finally {
      await Promise.all(agents.map((agent) => agent.stop()));
      await service[Symbol.asyncDispose]();
      folder.remove();
    }
  },
};
export default bench;
