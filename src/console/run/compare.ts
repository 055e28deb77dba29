import { checkResultRoutes } from '@picket/protocol/results/check-result.ts';
import { instant } from '../elements/format.ts';
import { stateBadge } from '../elements/state.ts';
import { table } from '../elements/table.ts';
import { section, visible } from '../elements/text.ts';
import { type Content, type Html, html, path } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageCall, View } from '../page.ts';
import { factsOf } from './compare-facts.ts';
import { type Difference, differencesOf } from './differences.ts';
import { crumbs, lastPassedBefore, leftOutNotice } from './parts.ts';
import { verdictOf } from './verdict.ts';

/** Shows the differences to a run that passed: usually they are the cause, or lead to it. */
export async function comparePage(call: PageCall): Promise<View> {
  const { api, params, query } = call;
  const { checkId = '', resultId = '' } = params;
  const find = (id: string) =>
    api.call(checkResultRoutes.getCheckResult, { params: { checkId, checkResultId: id } });
  const now = await find(resultId);
  const other = query.get('with');
  const before = other === null ? await lastPassedBefore(call, now) : await find(other);
  const top = html`${crumbs(checkId, now.name)}${heading('Comparison')}`;
  if (!before) {
    return {
      main: html`${top}<p class="empty">No run passed in the seven days before, so there is no run to compare with.</p>`,
    };
  }
  const all = differencesOf(factsOf(now), factsOf(before));
  const different = all.filter(({ isDifferent, isVolatile }) => isDifferent && !isVolatile);
  const others = all.filter((one) => !different.includes(one));
  const run = ({ id, created_at: at }: typeof now, word: string): Html => {
    const { state, word: verdict } = verdictOf(id === now.id ? now : before);
    return html`<p>${stateBadge(state, verdict)} <a href="${path`/checks/${checkId}/runs/${id}`}">${word}</a>, ${instant(at)}</p>`;
  };
  const main = html`${top}${run(now, 'This run')}${run(before, 'Compared run')}
${leftOutNotice(now.isDetailLeftOut ? now : before)}
${section('Differences', differenceTable(different, 'The runs have no significant differences.'), 'different')}
${others.length > 0 ? html`<section><details><summary>Equal and always changing values (${others.length})</summary>${differenceTable(others, '')}</details></section>` : ''}`;
  return { main };
}

function differenceTable(rows: readonly Difference[], empty: Content): Html {
  const value = (text: string | null) =>
    text === null
      ? html`<span class="soft">absent</span>`
      : html`<code class="wrap">${visible(text.slice(0, 1_000))}</code>`;
  return table<Difference>({
    caption: 'Both runs side by side',
    rows,
    empty,
    columns: [
      {
        title: 'Value',
        cell: ({ group, name }) => html`<span class="soft">${group}</span> ${visible(name)}`,
      },
      { title: 'Compared run', cell: ({ before }) => value(before) },
      { title: 'This run', cell: ({ now }) => value(now) },
    ],
  });
}
