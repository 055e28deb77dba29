import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { allScheduleParts } from '../../../../src/platform/store/engine/schedule-parts.ts';
import { ServiceMetrics } from '../../../../src/service/metrics/metrics.ts';
import { Scheduler } from '../../../../src/service/runs/scheduler.ts';
import { markdownTable } from '../../../helpers/service/run-writes/markdown-table.ts';
import { type WriteCounter, watchWrites } from '../../../helpers/service/run-writes/write-counter.ts';
import { createCheck, quietLogger, reportOf } from '../../../helpers/service/service.ts';
import { urlDetail } from '../../../helpers/service/url-detail.ts';
import type { StoreStage } from './stage.ts';

const page = join(import.meta.dirname, '../../../../docs/explanation/writes-of-a-run.md');
/** On PostgreSQL a turn takes as many of each part of the schedule, wherever these checks are. */
const checkCount = 5;

/** The table of docs/explanation/writes-of-a-run.md: what a run writes, on this engine. */
export function runWriteSuite(stage: StoreStage): void {
  it('writes for a run what docs/explanation/writes-of-a-run.md says', async () => {
    await stage.start();
    const { harness, clock, agent } = stage;
    const scheduler = new Scheduler({
      ...{ store: harness.store, clock, logger: quietLogger, metrics: new ServiceMetrics() },
      recordAgentless: async () => false,
    });
    for (let index = 0; index < checkCount; index += 1) {
      // One offset: all slots lie within six seconds.
      await createCheck(harness, {
        ...{ name: `check ${index}`, frequency: 1, frequencyOffset: 5, privateLocations: ['lab'] },
      });
    }
    // The second slot of each check: the first one inserts its status.
    const run = async (counting?: WriteCounter) => {
      const next = await harness.store.checks.nextSlotAt(allScheduleParts);
      clock.advance((next ?? 0) + 6_000 - clock.wallMs());
      counting?.ended('');
      await scheduler.turn();
      counting?.ended('Turn of the scheduler');
      const runs = await agent.claim({ aheadMs: 2_000, aheadSlots: { probe: checkCount } });
      counting?.ended('Claim');
      const results = runs.map((one) =>
        reportOf(one, { detail: urlDetail('https://shop.test/', '192.0.2.7') }),
      );
      expect(await agent.report(results)).toEqual(Array(checkCount).fill('accepted'));
      counting?.ended('Report');
    };
    await run();
    await using counting = watchWrites(stage.place);
    await run(counting);
    const table = markdownTable(counting.steps().slice(1), checkCount);
    expect(readFileSync(page, 'utf8')).toContain(table);
  });
}
