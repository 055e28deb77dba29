import { type CheckResult, checkResultRoutes } from '@picket/protocol/results/check-result.ts';
import { duration, instant, shortened } from '../elements/format.ts';
import { stateBadge } from '../elements/state.ts';
import { table } from '../elements/table.ts';
import { section, visible } from '../elements/text.ts';
import { type Content, html, path } from '../html.ts';
import type { PageCall } from '../page.ts';
import { verdictOf } from './verdict.ts';

const dayMs = 86_400_000;

/** Shows the attempts of a run with more than one. */
export async function attemptSection({ api }: PageCall, result: CheckResult): Promise<Content> {
  if (result.attempts === 0 && result.resultType === 'FINAL') return '';
  const { checkId, sequenceId, scheduledAt } = result;
  const to = new Date(Date.parse(scheduledAt) + dayMs).toISOString();
  const all = await api.call(checkResultRoutes.listCheckResults, {
    params: { checkId },
    query: { from: scheduledAt, to, resultType: 'ALL', limit: 100 },
  });
  const rows = all
    .filter((one) => one.sequenceId === sequenceId)
    .sort((left, right) => left.attempts - right.attempts);
  if (rows.length < 2) return '';
  return section(
    'Attempts',
    table<CheckResult>({
      caption: 'Attempts of this run',
      rows,
      empty: '',
      columns: [
        { title: '#', cell: ({ attempts }) => attempts + 1, isNumber: true },
        {
          title: 'Outcome',
          cell: (one) => {
            const { state, word, sentence } = verdictOf(one);
            const words = html`${stateBadge(state, word)} <span class="soft">${visible(shortened(sentence, 120))}</span>`;
            return one.id === result.id
              ? words
              : html`<a href="${path`/checks/${checkId}/runs/${one.id}`}">${words}</a>`;
          },
        },
        { title: 'Where', cell: ({ runLocation }) => visible(runLocation) },
        { title: 'When', cell: ({ startedAt, created_at: createdAt }) => instant(startedAt ?? createdAt) },
        { title: 'Time', cell: ({ responseTime }) => duration(responseTime), isNumber: true },
      ],
    }),
  );
}
