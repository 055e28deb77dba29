import { type Breadth, breadths } from '../helpers/alert-histories/breadth.ts';
import { liveOnThreads } from './parts/history-threads.ts';
import { type Bench, numberOption } from './report.ts';

const bench: Bench = {
  usage: '[--histories=100000] [--first=1] [--together=1000] [--threads=2] [--breadths=places,flapping]',
  title: 'Histories of alerts: each outage told in time, each incident ended once',
  async run(run) {
    const histories = numberOption(run, 'histories', 100_000);
    const first = numberOption(run, 'first', 1);
    const together = numberOption(run, 'together', 1_000);
    const threads = numberOption(run, 'threads', 2);
    const wanted = breadthsIn(run.options);
    const violations: string[] = [];
    const counts = { lived: 0, due: 0, messages: 0, causes: 0, joined: 0, recovered: 0 };
    const rounds = Array.from({ length: Math.ceil(histories / together) }, (_, index) => ({
      first: first + index * together,
      count: Math.min(together, histories - index * together),
      breadths: wanted,
    }));
    const beganMs = performance.now();
    await liveOnThreads(rounds, threads, (round, verdicts) => {
      counts.lived += round.count;
      for (const verdict of verdicts) {
        violations.push(...verdict.violations);
        for (const text of verdict.violations) run.progress(text);
        for (const name of ['due', 'messages', 'causes', 'joined', 'recovered'] as const)
          counts[name] += verdict[name];
      }
      const figures = `${counts.due} outages, ${counts.messages} messages of ${counts.causes} causes`;
      run.progress(`${counts.lived} histories, ${figures}, ${violations.length} violations`);
    });
    const seconds = (performance.now() - beganMs) / 1_000;
    const perCause = (count: number) => (count / Math.max(1, counts.causes)).toFixed(3);
    const { due, messages, joined, recovered } = counts;
    return {
      columns: [
        ...['histories', 'outages to be told', 'violations', 'messages per cause'],
        ...['and of checks that joined', 'and of checks that recovered'],
      ],
      rows: [
        [
          ...[String(histories), String(due), String(violations.length), perCause(messages)],
          ...[perCause(joined), perCause(recovered)],
        ],
      ],
      notes: [
        ...violations.slice(0, 20),
        `${(histories / seconds).toFixed(1)} histories a second on ${threads} threads`,
        'A cause has one first message. Checks that join or recover later are told by name, one message a minute at most.',
      ],
      figures: {
        ...{ histories, due, violations: violations.length, perCause: perCause(messages) },
        ...{ perCauseJoined: perCause(joined), perCauseRecovered: perCause(recovered) },
        perSecond: (histories / seconds).toFixed(1),
      },
    };
  },
};

/**
 * Additional events of each history, from an option: `--breadths=` for none. Without it the seed of each history
 * decides.
 */
function breadthsIn(options: readonly string[]): readonly Breadth[] | null {
  const option = options.find((one) => one.startsWith('--breadths='));
  if (option === undefined) return null;
  const names = option.slice('--breadths='.length).split(',').filter(Boolean);
  const known = breadths.filter((breadth) => names.includes(breadth));
  if (known.length < names.length) throw new Error(`--breadths takes some of ${breadths.join(', ')}`);
  return known;
}

export default bench;
