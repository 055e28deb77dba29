import { availableParallelism, setPriority } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { LeasedRun, ResultReport } from '../../src/protocol/agent/agent.ts';
import { leasedRun } from '../helpers/agent/fake-service/leased-run.ts';
import { AgentUnderLoad } from './parts/agent-load.ts';
import { type LineProcess, startLineProcess } from './parts/line-process.ts';
import { type Bench, numberOption, quantile } from './report.ts';

/** How long a run may take to be reported once it was due. A run that takes longer counts as not reported. */
const graceMs = 60_000;

/** `npm run bench -- starvation [--seconds=120] [--per-second=20] [--hogs-per-core=2]` */
const bench: Bench = {
  title: 'Verdicts on healthy targets while other processes keep every core busy',
  async run(run) {
    const seconds = numberOption(run, 'seconds', 120);
    const perSecond = numberOption(run, 'per-second', 20);
    const hogsPerCore = numberOption(run, 'hogs-per-core', 2);
    const hogCount = hogsPerCore * availableParallelism();
    await using cleanup = new AsyncDisposableStack();
    // The agent starts with the priority that everybody has; target and service come before it, as if elsewhere.
    const agent = cleanup.use(await AgentUnderLoad.start(100));
    setPriority(-10);
    const target = cleanup.use(startLineProcess('targets.ts'));
    const typed = runsOf(JSON.parse(await target.next()) as Ports);
    await warmUp(agent, typed);
    await startHogs(hogCount, cleanup);
    run.progress(`${hogCount} busy processes on ${availableParallelism()} cores`);

    const leased: LeasedRun[] = [];
    const startMs = performance.now();
    for (let index = 0; index < seconds * perSecond; index += 1) {
      const waitMs = startMs + (index * 1000) / perSecond - performance.now();
      if (waitMs > 0) await delay(waitMs);
      const due = nextOf(typed, index)();
      leased.push(due);
      agent.lease(due);
      if (index % (10 * perSecond) === 0) {
        run.progress(`${Math.round(index / perSecond)} of ${seconds} s, ${agent.resultCount} results`);
      }
    }
    // What does not come is counted as such; it ends no benchmark.
    const endsAtMs = performance.now() + graceMs;
    while (agent.resultCount < leased.length && performance.now() < endsAtMs) await delay(100);
    return reportOf(agent, leased, { seconds, hogCount });
  },
};
export default bench;

interface Ports {
  readonly http: number;
  readonly tcp: number;
  readonly dns: number;
}

type MakeRun = () => LeasedRun;

/** A run of each type on a target that is well. */
function runsOf({ http, tcp, dns }: Ports): readonly MakeRun[] {
  const host = '127.0.0.1';
  const specs = {
    URL: { url: `http://${host}:${http}/` },
    TCP: { hostname: host, port: tcp },
    DNS: { query: 'www.bench.test', recordType: 'A', nameServer: host, port: dns },
    ICMP: { hostname: host, pingCount: 2 },
  };
  return Object.entries(specs).map(
    ([checkType, request]) =>
      () =>
        leasedRun('', { check: { id: crypto.randomUUID(), name: checkType, checkType, spec: { request } } }),
  );
}

function nextOf(typed: readonly MakeRun[], index: number): MakeRun {
  const make = typed[index % typed.length];
  if (!make) throw new Error('there are no runs');
  return make;
}

async function warmUp(agent: AgentUnderLoad, typed: readonly MakeRun[]): Promise<void> {
  await agent.runClosedLoop(
    typed.map((make) => make()),
    typed.length,
  );
  agent.collect();
}

async function startHogs(count: number, cleanup: AsyncDisposableStack): Promise<void> {
  const before: LineProcess[] = [];
  setPriority(0);
  for (let index = 0; index < count; index += 1) before.push(cleanup.use(startLineProcess('busy-loop.ts')));
  setPriority(-10);
  cleanup.defer(() => setPriority(0));
  await Promise.all(before.map((hog) => hog.next()));
}

type Verdict = 'passed' | 'degraded' | 'failed' | 'error' | 'not reported';

/** Failures of the agent or its location are errors: they say nothing about the target. */
function verdictOf(result: ResultReport | undefined): Verdict {
  if (!result) return 'not reported';
  const { failure, isDegraded } = result;
  if (failure) return failure.owner === 'agent' || failure.owner === 'location' ? 'error' : 'failed';
  return isDegraded === true ? 'degraded' : 'passed';
}

function reportOf(
  agent: AgentUnderLoad,
  leased: readonly LeasedRun[],
  { seconds, hogCount }: { readonly seconds: number; readonly hogCount: number },
) {
  const runs = leased.map((due) => ({ due, result: agent.resultOf(due.runId) }));
  const verdicts: readonly Verdict[] = ['passed', 'degraded', 'failed', 'error', 'not reported'];
  const types = [...new Set(leased.map(({ check }) => check.checkType))];
  const rows = types.map((type) => {
    const ofType = runs.filter(({ due }) => due.check.checkType === type);
    const count = (verdict: Verdict) => ofType.filter(({ result }) => verdictOf(result) === verdict).length;
    return [
      type,
      String(ofType.length),
      ...verdicts.map((verdict) => String(count(verdict))),
      ...timesOf(ofType),
    ];
  });
  const total = (verdict: Verdict) => runs.filter(({ result }) => verdictOf(result) === verdict).length;
  const bad = runs.filter(({ result }) => ['failed', 'error'].includes(verdictOf(result)));
  const messages = [
    ...new Set(bad.map(({ due, result }) => `${due.check.checkType}: ${result?.failure?.message}`)),
  ];
  return {
    columns: [
      'check type',
      'runs',
      ...verdicts,
      'lateness p50 / p99 / max (ms)',
      'response p50 / p99 (ms)',
      'agent lag p50 / p99 (ms)',
    ],
    rows,
    notes: [
      `${hogCount} processes that never pause, at the agent's own priority, for ${seconds} s on ${availableParallelism()} cores. Service and targets have a higher priority, as if they ran elsewhere. Asked for: no run failed or degraded.`,
      'Lateness: from the due time of a run to the start of its probe.',
      ...messages.slice(0, 5).map((message) => `Seen: ${message}.`),
    ],
    figures: {
      runs: runs.length,
      failed: total('failed'),
      degraded: total('degraded'),
      errors: total('error'),
      not_reported: total('not reported'),
    },
  };
}

function timesOf(runs: readonly { readonly due: LeasedRun; readonly result: ResultReport | undefined }[]) {
  const values = (of: (result: ResultReport, due: LeasedRun) => number) =>
    runs.flatMap(({ due, result }) => (result ? [of(result, due)] : []));
  const ms = (numbers: readonly number[], ...at: readonly number[]) =>
    at.map((q) => quantile(numbers, q).toFixed(1)).join(' / ');
  return [
    ms(
      values((result, due) => result.startedAt - due.slotAt),
      0.5,
      0.99,
      1,
    ),
    ms(
      values(({ responseTimeMs }) => responseTimeMs),
      0.5,
      0.99,
    ),
    ms(
      values(({ agentLagMs }) => agentLagMs),
      0.5,
      0.99,
    ),
  ];
}
