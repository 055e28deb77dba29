import { counted } from '@picket/lib/figures/count.ts';
import { durationText } from '@picket/lib/figures/duration.ts';
import { errorsSection, testsSection } from '../script/tests-section.ts';
import type { DetailSummary } from '../summary/detail-summary.ts';
import { fact } from '../summary/parts.ts';
import type { PlaywrightDetail } from './detail.ts';

/** Summarizes the result of a Playwright suite for people. */
export function summaryOf({ errors, stats, tests, install, jobLog }: PlaywrightDetail): DetailSummary {
  const shown = tests.map(({ retry, title, file, projectName, ...test }) => ({
    ...test,
    title: retry > 0 ? `${title} (${counted(retry, 'retry', 'retries')})` : title,
    where: [file, projectName].filter(Boolean).join(' · '),
  }));
  const installed = install && `${install.source}, ${durationText(install.durationMs)}`;
  return {
    sections: [
      errorsSection(
        errors.map(({ testTitle, error }) => ({ test: testTitle, text: error.stack ?? error.message })),
      ),
      {
        ...testsSection(shown),
        facts: [
          fact('As expected', stats?.expected ?? null),
          fact('Unexpected', stats?.unexpected ?? null),
          fact('Flaky', stats?.flaky ?? null),
          fact('Skipped', stats?.skipped ?? null),
          { name: 'Dependencies', value: installed, isVolatile: true },
        ],
      },
    ],
    log: jobLog,
  };
}
