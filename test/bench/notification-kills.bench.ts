import { killNotifyingServices } from '../helpers/service/notification-kills.ts';
import { startPostgres } from '../helpers/service/postgres.ts';
import { type Bench, numberOption, quantile } from './report.ts';

/**
 * Services on one PostgreSQL, each killed with SIGKILL at a random instant up to `life` milliseconds after it listens,
 * while alerts are stored continuously and 3 % of the requests are refused.
 */
const bench: Bench = {
  usage: '[--kills=1000] [--life=1500] [--processes=4] [--minutes=60]',
  title: 'Services killed while they notify',
  async run(run) {
    const server = await startPostgres();
    const outcome = await killNotifyingServices({
      databaseUrl: await server.createDatabase(),
      kills: numberOption(run, 'kills', 1_000),
      lifeMs: numberOption(run, 'life', 1_500),
      processes: numberOption(run, 'processes', 4),
      endsAt: performance.now() + numberOption(run, 'minutes', 60) * 60_000,
      progress: run.progress,
    }).finally(() => server.stop());
    const { startMs, ...figures } = outcome;
    return {
      columns: [
        'kills',
        'notifications',
        'lost',
        'taken over',
        'arrived twice',
        'unexplained',
        'start p50 (ms)',
      ],
      rows: [
        [
          figures.kills,
          figures.notifications,
          figures.lost,
          figures.takenOver,
          figures.repeated,
          figures.unexplained,
          Math.round(quantile(startMs, 0.5)),
        ].map(String),
      ],
      notes: [
        'Taken over: tries that began again because a killed process had the notification in hand. Only those may arrive twice.',
        'Unexplained: requests without a recorded try, which would be a notification sent twice in one try.',
      ],
      figures: { ...figures },
    };
  },
};
export default bench;
