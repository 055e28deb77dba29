import { defineJob } from '../jobs/job-loop.ts';
import type { ClickHouseFeed } from './clickhouse/feed.ts';

export function clickHouseFeedJob(feed: ClickHouseFeed) {
  return defineJob({
    name: 'feed of ClickHouse',
    leaderOnly: true,
    wakesOn: [],
    longestMs: 60_000,
    run: () => feed.turn(),
    stopping: () => feed.stop(),
    close: () => feed.close(),
  });
}
