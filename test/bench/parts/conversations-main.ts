/**
 * The program of the conversations benchmark on the agent's host: puts a whole agent under load on a busy machine, and
 * compares the times it reports with the wire. Prints progress and the report as lines of JSON; reads the target's
 * ports from standard input.
 */
import { createInterface } from 'node:readline';
import { SslDetail } from '../../../src/checks/ssl/detail.ts';
import { SslSpec } from '../../../src/checks/ssl/spec.ts';
import { TcpDetail } from '../../../src/checks/tcp/detail.ts';
import { TcpSpec } from '../../../src/checks/tcp/spec.ts';
import { UdpDetail } from '../../../src/checks/udp/detail.ts';
import { UdpSpec } from '../../../src/checks/udp/spec.ts';
import type { ResultReport } from '../../../src/protocol/agent/agent.ts';
import { leasedRun } from '../../helpers/agent/fake-service/leased-run.ts';
import { readTurns, type WireTurns } from '../../helpers/wire/turns.ts';
import { type BenchReport, numberOption, quantile, textOption } from '../report.ts';
import { AgentUnderLoad } from './agent-load.ts';
import { agentDevice, type LabLine, targetAddress } from './bench-lab.ts';
import { startBurners } from './burners.ts';
import { startCapture } from './capture.ts';
import { applyLoad, type Load } from './loads.ts';

/** An error that a user would not accept. */
const wrongMs = 5;

type Phases = Readonly<Record<string, number>>;
interface Kind {
  check(port: number): { readonly checkType: string; readonly spec: Record<string, unknown> };
  /** Reported times by phase. */
  told(detail: unknown): Phases | undefined;
  /** The same times on the wire. */
  truth(wire: WireTurns): Phases;
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
const tcpCheck = (request: object) => ({
  checkType: 'TCP',
  spec: TcpSpec.parse({ request: { hostname: targetAddress, ...request } }),
});
const tcpTold = (detail: unknown) => {
  const phases = TcpDetail.parse(detail).response.timingPhases;
  return phases ? { connection: phases.connection, data: phases.data } : undefined;
};

const kinds: Readonly<Record<string, Kind>> = {
  /** A server that sends first. */
  tcp: {
    check: (port) =>
      tcpCheck({
        port,
        assertions: [{ source: 'RESPONSE_DATA', comparison: 'CONTAINS', target: 'hello' }],
      }),
    told: tcpTold,
    truth: ({ connect, turns }) => ({ connection: connect, data: turns[0] ?? Number.NaN }),
  },
  /** A dialogue with such a server. */
  steps: {
    check: (port) =>
      tcpCheck({
        port,
        steps: [
          { type: 'EXPECT', text: 'hello' },
          { type: 'SEND', text: 'well?\r\n' },
          { type: 'EXPECT', text: 'yes' },
        ],
      }),
    told: tcpTold,
    truth: ({ connect, turns }) => ({ connection: connect, data: sum(turns.slice(0, 2)) }),
  },
  udp: {
    check: (port) => ({
      checkType: 'UDP',
      spec: UdpSpec.parse({ request: { hostname: targetAddress, port, data: 'well?', attempts: 1 } }),
    }),
    told: (detail) => {
      const phases = UdpDetail.parse(detail).response?.timingPhases;
      return phases && { wait: phases.wait };
    },
    truth: ({ turns }) => ({ wait: turns[0] ?? Number.NaN }),
  },
  starttls: {
    check: (port) => {
      const sslConfig = { hostname: targetAddress, port, startTls: 'smtp', skipChainValidation: true };
      return { checkType: 'SSL', spec: SslSpec.parse({ request: { sslConfig } }) };
    },
    told: (detail) => {
      const phases = SslDetail.parse(detail).response?.timingPhases;
      return phases && { connection: phases.connection, startTls: phases.startTls ?? 0, tls: phases.tls };
    },
    truth: ({ connect, turns }) => ({
      connection: connect,
      startTls: sum(turns.slice(0, 3)),
      tls: turns[3] ?? Number.NaN,
    }),
  },
};

const loads: readonly Load[] = [
  { name: '5 in flight', kind: 'in-flight', count: 5 },
  { name: 'bursts of 50', kind: 'burst', count: 50 },
];

/** A run with times, compared with the wire. */
interface Compared {
  readonly total: number;
  /** The largest error of a phase. */
  readonly worst: number;
  readonly isDoubtful: boolean;
}
interface Cell {
  readonly kind: string;
  readonly burners: number;
  readonly made: number;
  /** Runs without times: the agent reported that it was too busy, or they failed. */
  readonly untold: number;
  readonly lost: number;
  readonly compared: readonly Compared[];
}

const options = { options: process.argv.slice(2) };
const only = textOption(options, 'kinds', Object.keys(kinds).join(',')).split(',');
const levels = textOption(options, 'burners', '0,2,4').split(',').map(Number);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const ports = JSON.parse((await lines.next()).value ?? '{}') as Record<string, number[]>;
const runCount = numberOption(options, 'runs', 300);

await using agent = await AgentUnderLoad.start(1000);
const cells: Cell[] = [];
for (const burnerCount of levels) {
  await using burners = await startBurners(burnerCount);
  for (const name of only) {
    const cell = await measure(name, burners.count);
    cells.push(cell);
    const { made, untold, compared } = cell;
    say({
      progress: `${name}, ${burnerCount} burners: ${compared.length} of ${made} joined, ${untold} without times`,
    });
  }
}
say({ report: reportOf(cells) });
process.stdin.destroy();

async function measure(name: string, burners: number): Promise<Cell> {
  const kind = kinds[name];
  if (!kind) throw new Error(`no kind ${name}: ${Object.keys(kinds).join(', ')}`);
  const own = (ports[name] ?? []).slice(0, runCount);
  // First runs are not representative.
  await report(kind, own.slice(0, 10), { name: 'warm-up', kind: 'in-flight', count: 5 });
  await using capture = await startCapture(agentDevice, `host ${targetAddress}`);
  const half = Math.ceil(own.length / loads.length);
  const results = new Map<number, ResultReport>();
  for (const [index, load] of loads.entries()) {
    const part = own.slice(index * half, (index + 1) * half);
    for (const [port, result] of await report(kind, part, load)) results.set(port, result);
  }
  const lost = await capture.stop();
  const wire = await readTurns(capture.path, targetAddress);
  let untold = 0;
  const compared = [...results].flatMap(([port, result]): Compared[] => {
    const told = result.failure === null ? kind.told(result.detail) : undefined;
    if (!told) untold += 1;
    const turns = wire.get(port);
    return told && turns ? (comparedTo(told, kind.truth(turns), result.isTimingDoubtful) ?? []) : [];
  });
  return { kind: name, burners, made: own.length, untold, lost, compared };
}

function comparedTo(told: Phases, truth: Phases, isDoubtful: boolean): Compared[] | undefined {
  const errors = Object.entries(told).map(([phase, value]) => value - (truth[phase] ?? Number.NaN));
  const total = sum(errors);
  // The capture of this connection is incomplete.
  if (Number.isNaN(total)) return undefined;
  return [{ total, worst: Math.max(...errors.map(Math.abs)), isDoubtful }];
}

/** Results by target port. */
async function report(kind: Kind, own: readonly number[], load: Load): Promise<Map<number, ResultReport>> {
  const runs = own.map((port) =>
    leasedRun('', { check: { id: crypto.randomUUID(), name: 'Conversation', ...kind.check(port) } }),
  );
  await applyLoad(load, runs.length, {
    async closedLoop(first, end, inFlight) {
      const before = agent.resultCount;
      if (before === 0) return await agent.runClosedLoop(runs.slice(first, end), inFlight);
      agent.lease(...runs.slice(first, end));
      await agent.untilResults(before + end - first);
    },
    start: (index) => agent.lease(...runs.slice(index, index + 1)),
    ended: (count) => agent.untilResults(count),
  });
  const portOfRun = new Map(runs.map(({ runId }, index) => [runId, own[index] ?? 0]));
  return new Map(agent.collect().map((result) => [portOfRun.get(result.runId) ?? 0, result]));
}

function reportOf(all: readonly Cell[]): BenchReport {
  const isWrong = ({ total, worst }: Compared) => Math.abs(total) > wrongMs || worst > wrongMs;
  const marked = (some: readonly Compared[]) => some.filter(({ isDoubtful }) => isDoubtful).length;
  const everything = all.flatMap(({ compared }) => compared);
  const wrong = everything.filter(isWrong);
  const right = everything.filter((one) => !isWrong(one));
  const unmarked = wrong.filter(({ isDoubtful }) => !isDoubtful).map(({ worst }) => worst);
  return {
    columns: [
      ...['kind', 'burners', 'joined of made', 'without times', 'total error (ms)', 'worst phase (ms)'],
      ...['wrong, marked of all', 'right, marked of all'],
    ],
    rows: all.map(({ kind, burners, made, untold, compared }) => {
      const cell = (values: readonly number[]) =>
        values.length === 0
          ? '–'
          : [0.5, 0.95, 0.99].map((q) => quantile([...values], q).toFixed(2)).join(' / ');
      const [bad, good] = [compared.filter(isWrong), compared.filter((one) => !isWrong(one))];
      return [
        ...[kind, String(burners), `${compared.length} of ${made}`, String(untold)],
        cell(compared.map(({ total }) => Math.abs(total))),
        cell(compared.map(({ worst }) => worst)),
        ...[`${marked(bad)} of ${bad.length}`, `${marked(good)} of ${good.length}`],
      ];
    }),
    notes: [
      'p50 / p95 / p99 of the absolute difference between what is reported and what the wire says: nanosecond stamps of tcpdump on the agent’s host. Each run has a port of the target to itself.',
      'tcp: a server that speaks first, and ends the connection; steps: a dialogue of three steps with one; udp: a datagram and its answer; starttls: SMTP, then TLS 1.3. Every other answer comes after 20 ms, the others at once.',
      `Wrong: a total, or a phase, that is off by more than ${wrongMs} ms. Marked: \`isTimingDoubtful\`. Burners: processes that never pause, at the agent’s priority, on all cores.`,
      `The capture lost ${sum(all.map(({ lost }) => lost))} packets. Half of the runs with 5 in flight, half in bursts of 50.`,
    ],
    figures: {
      wrong: String(wrong.length),
      wrong_marked_share: (wrong.length === 0 ? 1 : marked(wrong) / wrong.length).toFixed(4),
      right: String(right.length),
      right_marked_share: (right.length === 0 ? 0 : marked(right) / right.length).toFixed(4),
      unmarked_worst_ms: Math.max(0, ...unmarked).toFixed(1),
    },
  };
}

function say(line: LabLine): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
