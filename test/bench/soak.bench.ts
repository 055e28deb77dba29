import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { AgentProcess } from '../helpers/agent/agent-process.ts';
import { FakeService } from '../helpers/agent/fake-service/fake-service.ts';
import { leasedRun } from '../helpers/agent/fake-service/leased-run.ts';
import { Target } from '../helpers/agent/target.ts';
import { type Bench, numberOption } from './report.ts';

const sampleMs = 5000;
const feedMs = 100;

interface Sample {
  readonly atHours: number;
  readonly residentMb: number;
  readonly descriptors: number;
}

/**
 * An agent that runs `rate` checks a second. Measures the growth of its memory and its file descriptors, as the slope
 * of a line through all samples after a warm-up of five minutes, or half of a short run.
 */
const bench: Bench = {
  usage: '[--minutes=30] [--rate=200]',
  title: 'An agent that works for long',
  async run(run) {
    const minutes = numberOption(run, 'minutes', 30);
    const rate = numberOption(run, 'rate', 200);
    const service = new FakeService();
    const target = new Target();
    await Promise.all([service.listen(), target.listen()]);
    const agent = new AgentProcess({ SERVICE_URL: service.url, LOG_LEVEL: 'warn' });
    let resultCount = 0;
    let failedCount = 0;
    const samples: Sample[] = [];
    const forget = () => {
      resultCount += service.results.length;
      failedCount += service.results.filter(({ failure }) => failure !== null).length;
      // The bench's own records must not be what grows.
      service.results.length = service.receipts.length = service.calls.length = 0;
      target.requests.length = 0;
    };
    await service.waitFor('a claim', () => service.callsOf('claim').length > 0, 60_000);
    const feed = setInterval(
      () =>
        service.enqueue(
          ...Array.from({ length: Math.round((rate * feedMs) / 1000) }, () => leasedRun(target.url())),
        ),
      feedMs,
    );
    const startedAt = performance.now();
    try {
      while (performance.now() - startedAt < minutes * 60_000) {
        await sleep(sampleMs);
        forget();
        samples.push(sampleOf(agent.child.pid ?? 0, (performance.now() - startedAt) / 3_600_000));
        const last = samples.at(-1);
        if (samples.length % 12 === 0) {
          run.progress(
            `${resultCount} results, ${last?.residentMb.toFixed(0)} MB, ${last?.descriptors} descriptors`,
          );
        }
      }
    } finally {
      clearInterval(feed);
    }
    forget();
    await agent.kill();
    await Promise.all([service.close(), target.close()]);
    const warmHours = Math.min(5, minutes / 2) / 60;
    const warm = samples.filter(({ atHours }) => atHours >= warmHours);
    const memory = slope(warm.map(({ atHours, residentMb }) => [atHours, residentMb]));
    const descriptors = slope(warm.map(({ atHours, descriptors }) => [atHours, descriptors]));
    const perSecond = resultCount / (minutes * 60);
    // Hours for 100,000 checks.
    const hours = 100_000 / (perSecond * 3600);
    const withError = ({ rise, error }: Slope) =>
      `${(rise * hours).toFixed(2)} ± ${(error * hours).toFixed(2)}`;
    return {
      columns: [
        'minutes',
        'results/s',
        'failed',
        'MB once warm',
        'MB at end',
        'MB per 100,000',
        'descriptors once warm',
        'at end',
        'per 100,000',
      ],
      rows: [
        [
          String(minutes),
          perSecond.toFixed(0),
          String(failedCount),
          (warm[0]?.residentMb ?? 0).toFixed(0),
          (warm.at(-1)?.residentMb ?? 0).toFixed(0),
          withError(memory),
          String(warm[0]?.descriptors ?? 0),
          String(warm.at(-1)?.descriptors ?? 0),
          withError(descriptors),
        ],
      ],
      notes: [
        'Slopes are those of a line through all samples, five seconds apart, from the fifth minute (or half of a shorter run) on, with their standard error, for 100,000 checks. The heap breathes: short runs say little.',
      ],
      figures: {
        results: resultCount,
        failed: failedCount,
        mb_per_100000: (memory.rise * hours).toFixed(2),
        descriptors_per_100000: (descriptors.rise * hours).toFixed(2),
      },
    };
  },
};
export default bench;

function sampleOf(pid: number, atHours: number): Sample {
  const pages = Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]);
  return {
    atHours,
    residentMb: (pages * 4096) / 2 ** 20,
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
  };
}

interface Slope {
  readonly rise: number;
  /** Standard error. */
  readonly error: number;
}

/** Least squares. */
function slope(points: readonly (readonly [number, number])[]): Slope {
  const sum = (of: (x: number, y: number) => number) => points.reduce((total, [x, y]) => total + of(x, y), 0);
  const [meanX, meanY] = [sum((x) => x) / points.length, sum((_x, y) => y) / points.length];
  const spread = sum((x) => (x - meanX) ** 2);
  if (points.length < 3 || spread === 0) return { rise: 0, error: 0 };
  const rise = sum((x, y) => (x - meanX) * (y - meanY)) / spread;
  const rest = sum((x, y) => (y - meanY - rise * (x - meanX)) ** 2);
  return { rise, error: Math.sqrt(rest / (points.length - 2) / spread) };
}
