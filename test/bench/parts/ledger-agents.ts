import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type {
  ClaimResponse,
  LeasedRun,
  ResultReport,
  ResultsResponse,
} from '../../../src/protocol/agent/agent.ts';
import { reportOf } from '../../helpers/service/service.ts';

export interface LedgerLoad {
  /** Addresses of the services; an agent switches to the next one if its own is gone. */
  readonly urls: readonly string[];
  readonly key: string;
  readonly agents: number;
  /** Number of runs that an agent claims and reports at once. */
  readonly slots: number;
  /** Details of results; the same small page if absent. */
  readonly detailOf?: (index: number) => Record<string, unknown>;
  /**
   * Whether agents take runs before their slots, as real ones do, and report each after its slot: together with the
   * others of a second, or of a full batch. Otherwise they claim what is due, and report it at once.
   */
  readonly areEarly?: boolean;
  /** Notified of each claim and each report. */
  readonly observe?: LedgerObserver;
}

export interface LedgerObserver {
  /** @param latenessMs from the slots to their arrival at the agent. */
  claimed(latenessMs: readonly number[]): void;
  /** @param tookMs from sending results to their receipt. */
  reported(tookMs: number, results: number): void;
}

export interface LedgerCounts {
  /** Ids of results that the service acknowledged. */
  readonly acknowledged: Set<string>;
  leased: number;
  /** Calls that failed without a response. */
  failedCalls: number;
}

/**
 * Simulates agents by their calls: each claims, and reports its runs with a detail of the usual size, until stopped.
 */
export function startLedgerAgents(load: LedgerLoad): { counts: LedgerCounts; stop(): Promise<void> } {
  const counts: LedgerCounts = { acknowledged: new Set(), leased: 0, failedCalls: 0 };
  let isStopping = false;
  const run = load.areEarly ? runEarlyAgent : runAgent;
  const agents = Array.from({ length: load.agents }, (_none, index) => {
    const agent = { load, index, counts, isStopping: () => isStopping };
    return run(agent, callsOf(agent));
  });
  return {
    counts,
    async stop() {
      isStopping = true;
      await Promise.all(agents);
    },
  };
}

interface Agent {
  readonly load: LedgerLoad;
  readonly index: number;
  readonly counts: LedgerCounts;
  isStopping(): boolean;
}

interface AgentCalls {
  claim(fields: object): Promise<LeasedRun[]>;
  /** @returns whether the service has answered. */
  report(results: readonly ResultReport[]): Promise<boolean>;
}

function callsOf({ load, index, counts }: Agent): AgentCalls {
  const identity = { agentId: `agent-${index}`, sessionId: randomUUID() };
  let service = index;
  const call = async <T>(path: string, body: object): Promise<T | undefined> => {
    const url = load.urls[service % load.urls.length] ?? '';
    try {
      const response = await fetch(`${url}/v1/agent/${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${load.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ ...identity, ...body }),
      });
      if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
      return (await response.json()) as T;
    } catch {
      // No success: repeat the request with the next service.
      counts.failedCalls += 1;
      service += 1;
      return undefined;
    }
  };
  return {
    async claim(fields) {
      const claimed = await call<ClaimResponse>('claims', {
        version: '8.0.0',
        platform: 'bench',
        checkTypes: ['URL'],
        freeSlots: { probe: load.slots },
        waitMs: 200,
        ...fields,
      });
      const runs = claimed?.runs ?? [];
      counts.leased += runs.length;
      load.observe?.claimed(runs.map(({ slotAt }) => Date.now() - slotAt));
      return runs;
    },
    async report(results) {
      const start = performance.now();
      const answer = await call<ResultsResponse>('results', { results });
      if (!answer) return false;
      load.observe?.reported(performance.now() - start, results.length);
      for (const { resultId, status } of answer.items) {
        if (resultId !== null && (status === 'accepted' || status === 'duplicate'))
          counts.acknowledged.add(resultId);
      }
      return true;
    },
  };
}

async function runAgent({ load, counts, isStopping }: Agent, calls: AgentCalls): Promise<void> {
  let unreported: ResultReport[] = [];
  while (!isStopping() || unreported.length > 0) {
    if (unreported.length === 0) {
      const runs = await calls.claim({});
      const detailOf = load.detailOf ?? urlDetail;
      unreported = runs.map((run) => reportOf(run, { detail: detailOf(counts.leased) }));
      if (runs.length === 0) continue;
    }
    if (await calls.report(unreported)) unreported = [];
  }
}

/** Times and sizes of the real agent: leasing/dispatcher.ts, delivery/reporter.ts. */
const [aheadMs, gatherMs, mostReported] = [2_000, 1_000, 100] as const;

async function runEarlyAgent({ load, counts, isStopping }: Agent, calls: AgentCalls): Promise<void> {
  const detailOf = load.detailOf ?? urlDetail;
  const early: LeasedRun[] = [];
  const claims = async () => {
    while (!isStopping()) {
      // Runs whose slot has come occupy a slot of the agent until they are reported.
      const now = Date.now();
      const free = load.slots - early.filter(({ slotAt }) => slotAt <= now).length;
      if (free <= 0) {
        await delay(20);
        continue;
      }
      const room = Math.min(load.slots, 2 * load.slots - early.length);
      const aheadSlots = { probe: room * 2 < load.slots ? 0 : room };
      early.push(...(await calls.claim({ freeSlots: { probe: free }, aheadMs, aheadSlots, waitMs: 1_000 })));
    }
  };
  const reports = async () => {
    let beganAtMs = performance.now();
    while (!isStopping() || early.length > 0) {
      const now = Date.now();
      early.sort((one, other) => one.slotAt - other.slotAt);
      const future = early.findIndex(({ slotAt }) => slotAt > now);
      const started = Math.min(future === -1 ? early.length : future, mostReported);
      const isTime = performance.now() - beganAtMs >= gatherMs || started === mostReported;
      if (started === 0 || !isTime) {
        await delay(20);
        continue;
      }
      beganAtMs = performance.now();
      const reported = early
        .splice(0, started)
        .map((run) => reportOf(run, { detail: detailOf(counts.leased) }));
      while (!(await calls.report(reported)));
    }
  };
  await Promise.all([claims(), reports()]);
}

const page = 'a line of a page, as a monitor meets it\n'.repeat(25);

const url = 'https://shop.example.com/articles/4711';

/** The detail of a URL monitor: some 2 kB. */
export function urlDetail(): Record<string, unknown> {
  return {
    assertions: [],
    request: { method: 'GET', url, data: '', headers: { 'user-agent': 'picket' }, params: {} },
    response: {
      status: 200,
      statusText: 'OK',
      body: page,
      headers: { 'content-type': 'text/html', server: 'nginx', 'cache-control': 'no-store' },
      timings: { socket: 0.1, lookup: 1.2, connect: 5.5, response: 90.1, end: 99.9 },
      timingPhases: {
        wait: 0.1,
        dns: 1.1,
        tcp: 4.3,
        firstByte: 84.6,
        download: 9.8,
        total: 100,
        tls: 20,
        proxy: 0,
      },
      href: url,
      truncated: false,
      httpVersion: '1.1',
      ipAddress: '192.0.2.7',
      redirectCount: 0,
      certificate: null,
    },
    requestError: null,
    jobLog: null,
    jobAssets: null,
    pcapDataUrl: null,
  };
}
