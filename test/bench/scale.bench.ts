import { setTimeout as delay } from 'node:timers/promises';
import { startLedgerAgents } from './parts/ledger-agents.ts';
import { openScaleStage, type ScaleStage } from './parts/scale-stage.ts';
import { type Bench, type BenchRun, bothEngines, choicesOption, numberOption, quantile } from './report.ts';

/**
 * Checks once a minute through the real scheduler, claims, ingest and retention. `--kills` ends a service process with
 * `kill -9` once a minute, or as often as `--kills-per-minute` says. `--find` determines instead how many slots a
 * second the machine sustains: it adds checks every `--seconds=20`, until runs wait.
 */
const bench: Bench = {
  usage:
    '[--checks=100000] [--minutes=30] [--engine=postgres|sqlite] [--services=2] [--kills] [--kills-per-minute=1] [--agents=8] [--slots=100] [--find] [--seconds=20]',
  title: 'Checks once a minute through the whole service',
  async run(run) {
    const engines = choicesOption(run, 'engine', bothEngines);
    const columns: Figures[] = [];
    const notes: string[] = [];
    const figures: Record<string, string | number> = {};
    const names: string[] = [];
    for (const engine of engines) {
      const stage = await openScaleStage(
        engine,
        numberOption(run, 'checks', 100_000),
        numberOption(run, 'services', 2),
      );
      names.push(stage.name);
      try {
        const measure = run.options.includes('--find') ? find : hold;
        const { shown, told, machine } = await measure(run, stage);
        columns.push(shown);
        notes.push(...told.map((text) => `${stage.name}: ${text}`));
        for (const [name, value] of Object.entries(machine)) figures[`${engine}_${name}`] = value;
      } finally {
        await stage.close();
      }
    }
    const lines = [...new Set(columns.flatMap((shown) => Object.keys(shown)))];
    return {
      columns: ['figure', ...names],
      rows: lines.map((line) => [line, ...columns.map((shown) => shown[line] ?? '')]),
      notes: [
        'Agents claim runs before their slots and report in batches over HTTP, as real ones do, and measure nothing; each result has a detail of 2 kB. Lateness: from the due time of a slot to its first lease. Agents, services and database share the cores; commits wait for the disk.',
        ...notes,
      ],
      figures,
    };
  },
};
export default bench;

type Figures = Readonly<Record<string, string>>;

interface Measured {
  readonly shown: Figures;
  readonly told: readonly string[];
  readonly machine: Readonly<Record<string, string | number>>;
}

const minuteMs = 60_000;
/** Lead time of the first slot. */
const headStartMs = 3_000;

function startAgents(run: BenchRun, stage: ScaleStage) {
  return startLedgerAgents({
    urls: stage.urls,
    key: stage.locationKey,
    agents: numberOption(run, 'agents', 8),
    slots: numberOption(run, 'slots', 100),
    areEarly: true,
  });
}

const number = async (stage: ScaleStage, text: string) => Number((await stage.rows(text))[0]?.n ?? 0);

const waitingRuns = `select count(*) as n from runs where ended_day <= 0 and state in ('queued', 'leased')`;

async function hold(run: BenchRun, stage: ScaleStage): Promise<Measured> {
  const checks = numberOption(run, 'checks', 100_000);
  const minutes = numberOption(run, 'minutes', 30);
  const killsPerMinute = run.options.includes('--kills') ? numberOption(run, 'kills-per-minute', 1) : 0;
  const agents = startAgents(run, stage);
  await delay(2_000);
  const cpuBefore = await stage.cpu();
  const ownBefore = process.cpuUsage();
  const beginMs = Date.now() + headStartMs;
  const endMs = beginMs + minutes * minuteMs;
  const firstSlots = await stage.begin(1, checks, beginMs);
  const course: string[] = [];
  let kills = 0;
  for (let minute = 1; minute <= minutes; minute += 1) {
    for (let kill = 0; kill < killsPerMinute; kill += 1) {
      const part = (kill + 0.5) / killsPerMinute;
      await delay(Math.max(0, beginMs + (minute - 1 + part) * minuteMs - Date.now()));
      await stage.killOne();
      kills += 1;
    }
    await delay(Math.max(0, beginMs + minute * minuteMs - Date.now()));
    const { megabytes, deadRuns, deadChecks } = await stage.size();
    const waiting = await number(stage, waitingRuns);
    course.push(
      `minute ${minute}: ${megabytes.toFixed(0)} MB, ${waiting} runs on their way, ${deadRuns} dead rows of runs, ${deadChecks} of checks`,
    );
    run.progress(`${stage.name}, ${course.at(-1)}`);
  }
  // The last slots before the end have become runs by then, even after a process was killed.
  await delay(killsPerMinute > 0 ? 15_000 : 5_000);
  await stage.end();
  const emptyBy = performance.now() + 300_000;
  while ((await number(stage, waitingRuns)) > 0) {
    if (performance.now() > emptyBy) throw new Error('the queue does not get empty');
    await delay(500);
  }
  await agents.stop();
  const { user, system } = process.cpuUsage(ownBefore);
  const cpuAfter = await stage.cpu();
  const verdict = await judge(stage, firstSlots, endMs);
  const lateness = await latenessOf(stage, beginMs, endMs);
  const cpu = (ms: number) => ((ms * 1000) / verdict.runs).toFixed(0);
  const shown = {
    checks: String(checks),
    'minutes, slots a second': `${minutes}, ${(checks / 60).toFixed(0)}`,
    'kills of a service process': String(kills),
    'slots due until the end': String(verdict.due),
    'of these with exactly one terminal record': String(verdict.once),
    'runs FINAL, MISSED': `${verdict.final}, ${verdict.missed}`,
    'FINAL runs without, with two final results': `${verdict.withoutResult}, ${verdict.doubled}`,
    'lateness p50, p99, max (ms)': lateness.join(', '),
    'CPU per run (µs), starts after kills included: services, database, agents’ side': [
      cpu(cpuAfter.services - cpuBefore.services),
      cpu(cpuAfter.database - cpuBefore.database),
      cpu((user + system) / 1000),
    ].join(', '),
  };
  return {
    shown,
    told: [`${course.join('; ')}.`],
    machine: {
      due: verdict.due,
      once: verdict.once,
      doubled: verdict.doubled,
      lateness_p99_ms: lateness[1] ?? '',
    },
  };
}

interface Verdict {
  readonly due: number;
  readonly once: number;
  readonly runs: number;
  readonly final: number;
  readonly missed: number;
  readonly withoutResult: number;
  readonly doubled: number;
}

/** Evaluates every slot in the database from the first one of each check to the end. */
async function judge(
  stage: ScaleStage,
  firstSlots: ReadonlyMap<string, number>,
  endMs: number,
): Promise<Verdict> {
  const records = await stage.rows(`select check_id, slot_at, slot_count, state from runs
    where state in ('final', 'missed', 'cancelled') and slot_at <= ${endMs}`);
  const seen = new Map<string, number[]>();
  for (const { check_id: checkId, slot_at: slotAt, slot_count: count } of records) {
    const first = firstSlots.get(String(checkId));
    if (first === undefined) continue;
    const places = seen.get(String(checkId)) ?? [];
    seen.set(String(checkId), places);
    for (let slot = 0; slot < Number(count); slot += 1) {
      const place = (Number(slotAt) - first) / minuteMs + slot;
      places[place] = (places[place] ?? 0) + 1;
    }
  }
  let due = 0;
  let once = 0;
  for (const [checkId, first] of firstSlots) {
    const places = seen.get(checkId) ?? [];
    for (let place = 0; first + place * minuteMs <= endMs; place += 1) {
      due += 1;
      if (places[place] === 1) once += 1;
    }
  }
  const count = (state: string) =>
    records.filter((row) => row.state === state).reduce((sum, row) => sum + Number(row.slot_count), 0);
  return {
    due,
    once,
    runs: await number(stage, 'select count(*) as n from runs'),
    final: count('final'),
    missed: count('missed'),
    withoutResult: await number(
      stage,
      `select count(*) as n from runs where state = 'final'
        and not exists (select 1 from results where results.run_id = runs.id and result_type = 'FINAL')`,
    ),
    doubled: await number(
      stage,
      `select count(*) as n from (select run_id from results where result_type = 'FINAL'
        group by run_id having count(*) > 1) as twice`,
    ),
  };
}

/** p50, p99 and maximum, in milliseconds, of the slots in a period. */
async function latenessOf(stage: ScaleStage, fromMs: number, toMs: number): Promise<string[]> {
  const rows = await stage.rows(`select first_leased_at - slot_at as ms from runs
    where first_leased_at is not null and slot_at >= ${fromMs} and slot_at < ${toMs}`);
  const values = rows.map(({ ms }) => Number(ms));
  return [0.5, 0.99, 1].map((q) => quantile(values, q).toFixed(0));
}

/** With a larger lateness, runs count as waiting. */
const carriedLatenessMs = 5_000;
const settlingMs = 10_000;

async function find(run: BenchRun, stage: ScaleStage): Promise<Measured> {
  const checks = numberOption(run, 'checks', 100_000);
  const seconds = numberOption(run, 'seconds', 20);
  const agents = startAgents(run, stage);
  const steps: string[] = [];
  let carried = 0;
  let refused = 0;
  let rate = 300;
  for (let made = 0; rate * 60 <= checks; rate = Math.ceil(rate * 1.25)) {
    await stage.begin(made + 1, rate * 60, Date.now() + 500);
    made = rate * 60;
    // Their first slots are spread over a minute: the rate is reached at once, and its side effects settle.
    await delay(settlingMs);
    const cpuBefore = await stage.cpu();
    const ownBefore = process.cpuUsage();
    const fromMs = Date.now();
    await delay(seconds * 1000);
    const cpuAfter = await stage.cpu();
    const { user, system } = process.cpuUsage(ownBefore);
    const waiting = await number(stage, waitingRuns);
    const overdue = await number(
      stage,
      `select count(*) as n from check_slots where next_slot_at <= ${Date.now() - 1000}`,
    );
    const ended = await number(
      stage,
      `select count(*) as n from runs where state = 'final' and ended between ${fromMs} and ${fromMs + seconds * 1000}`,
    );
    const [p50 = '', p99 = ''] = await latenessOf(stage, fromMs, fromMs + seconds * 1000 - carriedLatenessMs);
    const ofCore = (ms: number) => `${((ms / seconds / 1000) * 100).toFixed(0)} %`;
    steps.push(
      `${rate} a second: ${(ended / seconds).toFixed(0)} ended, lateness p50 ${p50}, p99 ${p99} ms, ${waiting} runs on their way, ${overdue} checks overdue, CPU of a core: services ${ofCore(cpuAfter.services - cpuBefore.services)}, database ${ofCore(cpuAfter.database - cpuBefore.database)}, agents’ side ${ofCore((user + system) / 1000)}`,
    );
    run.progress(`${stage.name}, ${steps.at(-1)}`);
    // If most runs of the step are still waiting, there is no lateness yet.
    if (!(Number(p99) < carriedLatenessMs) || waiting > rate * 5 || overdue > rate * 5) {
      refused = rate;
      break;
    }
    carried = rate;
  }
  await stage.end();
  await agents.stop();
  return {
    shown: {
      'slots a second carried': String(carried),
      'not carried any more': refused === 0 ? 'not reached' : String(refused),
    },
    told: [`${steps.join('; ')}.`],
    machine: { slots_per_s: carried },
  };
}
