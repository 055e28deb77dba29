import { spawnSync } from 'node:child_process';
import { availableParallelism, setPriority } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { LeasedRun, ResultReport } from '../../src/protocol/agent/agent.ts';
import { leasedRun } from '../helpers/agent/fake-service/leased-run.ts';
import { startFilteredTarget } from '../helpers/targets/filtered-target.ts';
import { AgentUnderLoad } from './parts/agent-load.ts';
import { type LineProcess, startLineProcess } from './parts/line-process.ts';
import { type Bench, numberOption, quantile, textOption } from './report.ts';

/** Time limit for the report of a run after it was due. A later report counts as missing. */
const graceMs = 90_000;
/** Every fifth run has a dead target, which takes its whole time limit. */
const deadShare = 5;

const bench: Bench = {
  usage: '[--seconds=60] [--per-second=20] [--burners=0,1,2,4]',
  title: 'Verdicts on healthy and dead targets while other processes keep the cores busy',
  async run(run) {
    const seconds = numberOption(run, 'seconds', 60);
    const perSecond = numberOption(run, 'per-second', 20);
    const counts = textOption(run, 'burners', '0,1,2,4').split(',').map(Number);
    await using cleanup = new AsyncDisposableStack();
    const isLossy = await addLossyNetwork(cleanup);
    // The agent starts with normal priority; target and service get a higher one, as if on another host.
    const agent = cleanup.use(await AgentUnderLoad.start(300));
    setPriority(-10);
    cleanup.defer(() => setPriority(0));
    const target = cleanup.use(startLineProcess('targets.ts'));
    const filtered = cleanup.use(await startFilteredTarget());
    const ports = JSON.parse(await target.next()) as Ports;
    const healthy = healthyRuns(ports);
    const dead = deadRuns(ports, filtered, isLossy);
    await warmUp(agent, healthy);
    const rows: Row[] = [];
    for (const burnerCount of counts) {
      await using burners = new AsyncDisposableStack();
      await startBurners(burnerCount, burners);
      run.progress(`${burnerCount} busy processes on ${availableParallelism()} cores`);
      const leased = { healthy: [] as LeasedRun[], dead: [] as LeasedRun[] };
      const startMs = performance.now();
      for (let index = 0; index < seconds * perSecond; index += 1) {
        const waitMs = startMs + (index * 1000) / perSecond - performance.now();
        if (waitMs > 0) await delay(waitMs);
        const isDead = index % deadShare === 0;
        const due = nextOf(isDead ? dead : healthy, Math.floor(isDead ? index / deadShare : index))();
        leased[isDead ? 'dead' : 'healthy'].push(due);
        agent.lease(due);
      }
      // Missing results are counted, and do not abort the benchmark.
      const count = leased.healthy.length + leased.dead.length;
      const endsAtMs = performance.now() + graceMs;
      while (agent.resultCount < count && performance.now() < endsAtMs) await delay(100);
      for (const kind of ['healthy', 'dead'] as const) {
        rows.push(...rowsOf(agent, leased[kind], { burnerCount, kind }));
      }
      agent.collect();
    }
    return reportOf(rows, seconds);
  },
};
export default bench;

interface Ports {
  readonly http: number;
  readonly tcp: number;
  readonly dns: number;
  readonly silentTcp: number;
  readonly silentUdp: number;
}

type MakeRun = () => LeasedRun;

const host = '127.0.0.1';
/** Packets to it are dropped. */
const lostAddress = '198.18.7.2';

/** A run of each type on a healthy target. */
function healthyRuns({ http, tcp, dns }: Ports): readonly MakeRun[] {
  return [
    runOf('URL', 'URL', { url: `http://${host}:${http}/` }),
    runOf('TCP', 'TCP', { hostname: host, port: tcp }),
    runOf('DNS', 'DNS', { query: 'www.bench.test', recordType: 'A', nameServer: host, port: dns }),
    runOf('ICMP', 'ICMP', { hostname: host, pingCount: 2 }),
  ];
}

/** Runs on dead targets, with a different defect each. */
function deadRuns(
  { silentTcp, silentUdp }: Ports,
  filtered: { readonly port: number },
  isLossy: boolean,
): readonly MakeRun[] {
  const toDns = { query: 'www.bench.test', recordType: 'A', nameServer: host, port: silentUdp };
  return [
    runOf('URL, silent', 'URL', { url: `http://${host}:${silentTcp}/` }),
    runOf('URL, SYN dropped', 'URL', { url: `http://${host}:${filtered.port}/` }),
    runOf('TCP, silent', 'TCP', { hostname: host, port: silentTcp, data: 'ping' }),
    runOf('DNS, silent', 'DNS', toDns),
    ...(isLossy ? [runOf('ICMP, 100 % loss', 'ICMP', { hostname: lostAddress, pingCount: 2 })] : []),
  ];
}

function runOf(name: string, checkType: string, request: Readonly<Record<string, unknown>>): MakeRun {
  return () => leasedRun('', { check: { id: crypto.randomUUID(), name, checkType, spec: { request } } });
}

/** A network that drops every packet; needs root. */
async function addLossyNetwork(cleanup: AsyncDisposableStack): Promise<boolean> {
  const name = 'picketlost';
  const env = { PATH: `${process.env.PATH}:/usr/sbin:/sbin` };
  const ip = (...words: string[]) => spawnSync('ip', words, { stdio: 'ignore', env }).status === 0;
  const peer = `${name}2`;
  if (!ip('link', 'add', name, 'type', 'veth', 'peer', 'name', peer)) return false;
  cleanup.defer(() => void ip('link', 'delete', name));
  const steps = [
    ['address', 'add', '198.18.7.1/24', 'dev', name],
    ['link', 'set', name, 'up'],
    ['link', 'set', peer, 'up'],
    // No host has that address: the other end drops its packets.
    ['neighbor', 'add', lostAddress, 'lladdr', '02:00:00:00:00:07', 'dev', name],
  ];
  return steps.every((words) => ip(...words));
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

async function startBurners(count: number, cleanup: AsyncDisposableStack): Promise<void> {
  const before: LineProcess[] = [];
  setPriority(0);
  for (let index = 0; index < count; index += 1) before.push(cleanup.use(startLineProcess('busy-loop.ts')));
  setPriority(-10);
  await Promise.all(before.map((burner) => burner.next()));
}

type Verdict = 'passed' | 'degraded' | 'failed' | 'error' | 'not reported';
const verdicts: readonly Verdict[] = ['passed', 'degraded', 'failed', 'error', 'not reported'];

/** Failures of the agent or its location are errors: they say nothing about the target. */
function verdictOf(result: ResultReport | undefined): Verdict {
  if (!result) return 'not reported';
  const { failure, isDegraded } = result;
  if (failure) return failure.owner === 'agent' || failure.owner === 'location' ? 'error' : 'failed';
  return isDegraded === true ? 'degraded' : 'passed';
}

interface Row {
  readonly burnerCount: number;
  readonly kind: 'healthy' | 'dead';
  readonly name: string;
  readonly counts: Readonly<Record<Verdict, number>>;
  readonly times: readonly string[];
  /** Messages of runs whose verdict does not match their target. */
  readonly messages: readonly string[];
}

/** One row for each kind of run. */
function rowsOf(
  agent: AgentUnderLoad,
  leased: readonly LeasedRun[],
  { burnerCount, kind }: Pick<Row, 'burnerCount' | 'kind'>,
): Row[] {
  const runs = leased.map((due) => ({ due, result: agent.resultOf(due.runId) }));
  const names = [...new Set(leased.map(({ check }) => check.name))];
  return names.map((name) => {
    const ofName = runs.filter(({ due }) => due.check.name === name);
    const count = (verdict: Verdict) => ofName.filter(({ result }) => verdictOf(result) === verdict).length;
    const counts = Object.fromEntries(verdicts.map((verdict) => [verdict, count(verdict)]));
    const deserved: readonly Verdict[] = kind === 'healthy' ? ['passed', 'degraded'] : ['failed'];
    const wrong = ofName.filter(({ result }) => !deserved.includes(verdictOf(result)));
    const messages = wrong.map(({ result }) => `${name}: ${result?.failure?.message ?? 'no failure'}`);
    return { burnerCount, kind, name, counts: counts as Row['counts'], times: timesOf(ofName), messages };
  });
}

function reportOf(rows: readonly Row[], seconds: number) {
  const total = (kind: Row['kind'], verdict: Verdict) =>
    rows.filter((row) => row.kind === kind).reduce((sum, { counts }) => sum + counts[verdict], 0);
  const messages = [...new Set(rows.flatMap((row) => row.messages))];
  return {
    columns: [
      'burners',
      'target',
      'run',
      ...verdicts,
      'lateness p50 / p99 / max (ms)',
      'response p50 / p99 (ms)',
      'agent lag p50 / p99 (ms)',
    ],
    rows: rows.map(({ burnerCount, kind, name, counts, times }) => [
      String(burnerCount),
      kind,
      name,
      ...verdicts.map((verdict) => String(counts[verdict])),
      ...times,
    ]),
    notes: [
      `Burners: processes that never pause, at the agent's own priority, for ${seconds} s on ${availableParallelism()} cores. Service and targets have a higher priority, as if they ran elsewhere. Asked for: no run on a healthy target failed or degraded, and every one on a dead target failed.`,
      'Lateness: from the due time of a run to the start of its probe.',
      ...messages.slice(0, 5).map((message) => `Seen: ${message}.`),
    ],
    figures: {
      runs: rows.reduce((sum, { counts }) => sum + verdicts.reduce((all, name) => all + counts[name], 0), 0),
      healthy_failed: total('healthy', 'failed'),
      healthy_degraded: total('healthy', 'degraded'),
      healthy_errors: total('healthy', 'error'),
      dead_excused: total('dead', 'error'),
      dead_passed: total('dead', 'passed') + total('dead', 'degraded'),
      not_reported: total('healthy', 'not reported') + total('dead', 'not reported'),
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
