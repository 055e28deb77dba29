import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { AgentProcess } from '../agent/agent-process.ts';
import { Target } from '../agent/target.ts';
import { FakeService } from '../helpers/fake-service/fake-service.ts';
import { leasedRun } from '../helpers/fake-service/leased-run.ts';
import { type Bench, numberOption } from './report.ts';

const sampleMs = 5000;
const feedMs = 100;

interface Sample {
  readonly atHours: number;
  readonly residentMb: number;
  readonly descriptors: number;
}

/**
 * `npm run bench -- soak [--minutes=30] [--rate=200]`: an agent that runs `rate` checks a second. How fast its memory and its
 * file descriptors grow, as the slope of a line through the samples of the second half, when everything is warm.
 */
const bench: Bench = {
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
      // What this bench itself remembers must not be what grows.
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
    const warm = samples.slice(Math.floor(samples.length / 2));
    const memorySlope = slope(warm.map(({ atHours, residentMb }) => [atHours, residentMb]));
    const descriptorSlope = slope(warm.map(({ atHours, descriptors }) => [atHours, descriptors]));
    const perSecond = resultCount / (minutes * 60);
    return {
      columns: [
        'minutes',
        'results/s',
        'failed',
        'MB at half',
        'MB at end',
        'MB/h',
        'descriptors at end',
        'descriptors/h',
      ],
      rows: [
        [
          String(minutes),
          perSecond.toFixed(0),
          String(failedCount),
          (warm[0]?.residentMb ?? 0).toFixed(0),
          (warm.at(-1)?.residentMb ?? 0).toFixed(0),
          memorySlope.toFixed(1),
          String(warm.at(-1)?.descriptors ?? 0),
          descriptorSlope.toFixed(1),
        ],
      ],
      notes: ['Slopes are those of the second half, per hour. A short run says little: the heap breathes.'],
      figures: {
        results: resultCount,
        failed: failedCount,
        mb_per_hour: memorySlope.toFixed(1),
        descriptors_per_hour: descriptorSlope.toFixed(1),
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

/** Least squares. */
function slope(points: readonly (readonly [number, number])[]): number {
  const mean = (place: 0 | 1) => points.reduce((sum, point) => sum + point[place], 0) / points.length;
  const [meanX, meanY] = [mean(0), mean(1)];
  const above = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0);
  const below = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  return below === 0 ? 0 : above / below;
}
