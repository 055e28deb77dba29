import type { LeasedRun } from '../../src/protocol/agent/agent.ts';
import { leasedRun } from '../helpers/agent/fake-service/leased-run.ts';
import { cpuMsOf } from '../helpers/picket-process.ts';
import { AgentUnderLoad } from './parts/agent-load.ts';
import { needPrograms } from './parts/bench-lab.ts';
import { type Blackbox, startBlackbox } from './parts/blackbox.ts';
import { fpingCpuMs, loopbackAddresses } from './parts/fping.ts';
import { startLineProcess } from './parts/line-process.ts';
import { type Bench, numberOption, quantile, textOption } from './report.ts';

interface Ports {
  readonly http: number;
  readonly tcp: number;
  readonly dns: number;
}

/** A probe that both run: as a check of the agent, and as a bare probe or ping of the peer. */
interface Subject {
  readonly name: string;
  readonly peer: 'blackbox' | 'fping';
  /** Goal of the issue: the agent's checks (or pings) per CPU-second, relative to the peer's. */
  readonly goal: number;
  readonly checkType: string;
  readonly spec: Readonly<Record<string, unknown>>;
  /** Number of the peer's probes that a check corresponds to. */
  readonly probesPerCheck: number;
  readonly module: 'http' | 'tcp' | 'dns' | 'icmp';
  readonly target: string;
  /** Maximum concurrency of the peer, if more would make its probes fail. */
  readonly peerInFlight?: number;
}

/** The peers run no scripts, so the agent must not prepare for them. */
const noRuntimes = '/nonexistent';
/** Rounds of trains are long, so few of them suffice as warm-up. */
const trainWarmUpRounds = 10;
const pingsPerCheck = 10;
/** The pause between the requests of an ICMP monitor. */
const pingPeriodMs = 500;

const subjectsOf = ({ http, tcp, dns }: Ports): Subject[] => {
  const host = '127.0.0.1';
  const blackbox = { peer: 'blackbox', goal: 1, probesPerCheck: 1 } as const;
  const dnsRequest = { query: 'www.bench.test', recordType: 'A', nameServer: host, port: dns };
  const icmp = (pingCount: number) => ({
    checkType: 'ICMP',
    spec: { request: { hostname: host, pingCount } },
  });
  const url = `http://${host}:${http}/`;
  return [
    { ...blackbox, name: 'URL', checkType: 'URL', spec: { request: { url } }, module: 'http', target: url },
    {
      ...blackbox,
      name: 'TCP',
      checkType: 'TCP',
      spec: { request: { hostname: host, port: tcp } },
      module: 'tcp',
      target: `${host}:${tcp}`,
    },
    {
      ...blackbox,
      name: 'DNS',
      checkType: 'DNS',
      spec: { request: dnsRequest },
      module: 'dns',
      target: `${host}:${dns}`,
    },
    {
      ...blackbox,
      name: 'ICMP, one ping a check',
      ...icmp(1),
      module: 'icmp',
      target: host,
      peerInFlight: 10,
    },
    {
      name: `pings, ${pingsPerCheck} a check`,
      peer: 'fping',
      goal: 0.7,
      ...icmp(pingsPerCheck),
      probesPerCheck: pingsPerCheck,
      module: 'icmp',
      target: host,
    },
  ];
};

const bench: Bench = {
  usage: '[--checks=2000] [--rounds=7] [--concurrency=100] [--warm-up=16000] [--only=PART]',
  title: 'Checks per CPU-second of the whole agent, compared with bare probes of blackbox_exporter and fping',
  async run(run) {
    needPrograms('prometheus-blackbox-exporter', 'fping');
    const checks = numberOption(run, 'checks', 2000);
    const rounds = numberOption(run, 'rounds', 7);
    const concurrency = numberOption(run, 'concurrency', 100);
    const warmUp = numberOption(run, 'warm-up', 16_000);
    const only = textOption(run, 'only', '');
    await using target = startLineProcess('targets.ts');
    const ports = JSON.parse(await target.next()) as Ports;
    const rows: string[][] = [];
    const figures: Record<string, string> = {};
    const note = ({ name, peer, goal }: Pick<Subject, 'name' | 'peer' | 'goal'>, found: Compared) => {
      const { agentMs, peerMs, ratios } = found;
      const ratio = quantile(ratios, 0.5);
      const perSecond = (cpuMs: number) => (1000 / cpuMs).toFixed(0);
      rows.push([
        name,
        peer,
        perSecond(quantile(agentMs, 0.5)),
        perSecond(quantile(peerMs, 0.5)),
        `${ratio.toFixed(2)} (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`,
        `≥ ${goal.toFixed(1)}`,
      ]);
      figures[`${name.split(',', 1)[0]?.toLowerCase().replaceAll(' ', '_')}_ratio`] = ratio.toFixed(2);
      run.progress(`${name}: ${ratio.toFixed(2)} of ${peer}`);
    };
    for (const subject of subjectsOf(ports)) {
      if (subject.name.includes(only)) {
        note(subject, await compare(subject, { checks, rounds, concurrency, warmUp }));
      }
    }
    const engine = { name: 'engine, pings', peer: 'fping', goal: 0.7 } as const;
    if (engine.name.includes(only)) note(engine, await compareEngine(rounds));
    return {
      columns: [
        'probe',
        'peer',
        'agent (per CPU-s)',
        'peer (per CPU-s)',
        'median ratio (range)',
        'asked for',
      ],
      rows,
      notes: [
        `Agent: lease, probe, assertions, report and acknowledgement, the whole process with all its threads (user and system time), against a fake service in another process; no runtimes of scripts are installed. Before the rounds it has run ${warmUp} checks that do not count (trains of pings: ${trainWarmUpRounds} rounds): its JavaScript is compiled while it runs, and the first 2000 checks after a start cost about three times as much CPU time. blackbox_exporter: one request to its API and one probe. fping: all requests of one call, its start included.`,
        `Pings, ${pingsPerCheck} a check: not like with like. A check is a whole run of the agent for one train, with ${pingsPerCheck} pings to carry its lease, its gate, its verdict and its report; fping has one process and one line of output for all targets. Engine: the agent's echo engine alone in a process, ${engineTargets.count} pings ${engineTargets.periodMs} ms apart to each of ${engineTargets.addresses} addresses, compared with fping doing the same; that is like with like.`,
        `${checks} checks a round, ${concurrency} at a time (pings: all at once), ${rounds} rounds in alternating order; the ratio is the median of the rounds’ own. ICMP of the peer: 10 at a time, because with 100 some of its probes fail.`,
      ],
      figures,
    };
  },
};
export default bench;

/** CPU milliseconds per probe or ping, and the ratio, in each round. */
interface Compared {
  readonly agentMs: readonly number[];
  readonly peerMs: readonly number[];
  readonly ratios: readonly number[];
}

const engineTargets = { addresses: 500, count: 50, periodMs: 20 };

/** Compares the bare echo engine with fping, with the same train to the same addresses. */
async function compareEngine(rounds: number): Promise<Compared> {
  const { addresses, count, periodMs } = engineTargets;
  await using engine = startLineProcess('ping-engine.ts');
  await engine.next();
  const engineRound = async () => Number(await engine.ask(`${addresses} ${count} ${periodMs}`));
  const peerRound = () => fpingCpuMs(loopbackAddresses(addresses), { count, periodMs });
  for (let round = 0; round < trainWarmUpRounds; round += 1) await engineRound();
  return await alternate({ rounds, agentRound: engineRound, peerRound, probeCount: addresses * count });
}

interface Size {
  readonly checks: number;
  readonly rounds: number;
  readonly concurrency: number;
  readonly warmUp: number;
}

async function compare(subject: Subject, { checks, rounds, concurrency, warmUp }: Size): Promise<Compared> {
  const isTrain = subject.peer === 'fping';
  const inFlight = isTrain ? 1000 : concurrency;
  const count = isTrain ? Math.min(checks, inFlight) : checks;
  await using agent = await AgentUnderLoad.start(inFlight, { RUNTIMES_DIR: noRuntimes });
  await using blackbox = await startBlackbox();
  const agentRound = () => agentCpuMs(agent, subject, count, inFlight);
  const peerRound = () =>
    isTrain
      ? fpingCpuMs(loopbackAddresses(count), { count: pingsPerCheck, periodMs: pingPeriodMs })
      : blackboxCpuMs(blackbox, subject, { count, inFlight: subject.peerInFlight ?? inFlight });
  const warmUpRounds = isTrain ? trainWarmUpRounds : Math.ceil(warmUp / count);
  for (let round = 0; round < warmUpRounds; round += 1) await agentRound();
  const probeCount = count * subject.probesPerCheck;
  return await alternate({ rounds, agentRound, peerRound, probeCount });
}

/** Alternates both after a warm-up round. */
async function alternate(options: {
  readonly rounds: number;
  readonly agentRound: () => Promise<number>;
  readonly peerRound: () => Promise<number>;
  readonly probeCount: number;
}): Promise<Compared> {
  const { rounds, agentRound, peerRound, probeCount } = options;
  await agentRound();
  await peerRound();
  const agentMs: number[] = [];
  const peerMs: number[] = [];
  const ratios: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    // The order of the two alternates, so that a drift of the machine favours neither.
    const isAgentFirst = round % 2 === 0;
    const first = await (isAgentFirst ? agentRound() : peerRound());
    const second = await (isAgentFirst ? peerRound() : agentRound());
    const [ofAgent, ofPeer] = isAgentFirst ? [first, second] : [second, first];
    agentMs.push(ofAgent / probeCount);
    peerMs.push(ofPeer / probeCount);
    ratios.push(ofPeer / ofAgent);
  }
  return { agentMs, peerMs, ratios };
}

async function agentCpuMs(agent: AgentUnderLoad, subject: Subject, count: number, inFlight: number) {
  const { checkType, spec } = subject;
  const check = () => ({ id: crypto.randomUUID(), name: 'Density', checkType, spec });
  const runs: LeasedRun[] = Array.from({ length: count }, () => leasedRun('', { check: check() }));
  const before = await cpuMsOf(agent.pid);
  // Twice as many are leased as can run, so that the agent never waits for the service.
  await agent.runClosedLoop(runs, inFlight * 2);
  const after = await cpuMsOf(agent.pid);
  const [bad] = agent.collect().filter(({ failure }) => failure !== null);
  if (bad) throw new Error(`a check of type ${checkType} did not pass: ${bad.failure?.message}`);
  return after - before;
}

async function blackboxCpuMs(
  blackbox: Blackbox,
  { module, target }: Subject,
  { count, inFlight }: { readonly count: number; readonly inFlight: number },
) {
  const before = await cpuMsOf(blackbox.pid);
  let left = count;
  const worker = async () => {
    while (left > 0) {
      left -= 1;
      const metrics = await blackbox.probe(module, target);
      if (metrics.get('probe_success') !== 1) throw new Error(`a ${module} probe of the peer did not pass`);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return (await cpuMsOf(blackbox.pid)) - before;
}
