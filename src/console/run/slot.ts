import { AppError } from '@picket/lib/errors.ts';
import { type Slot, slotRoutes } from '@picket/protocol/runs/slot.ts';
import { reasonWords } from '../elements/charts/slot-bar.ts';
import { factLine } from '../elements/fact-lists.ts';
import { instant } from '../elements/format.ts';
import { stateBadge } from '../elements/state.ts';
import { visible } from '../elements/text.ts';
import { type Html, html, path } from '../html.ts';
import type { PageAnswer, PageCall, View } from '../page.ts';
import { crumbs } from './parts.ts';

/** Shows a slot without a result, and why it was not measured; leads to the run of any other. */
export async function slotPage({ api, params, query, store, viewer }: PageCall): Promise<PageAnswer> {
  const { checkId = '', slotId = '' } = params;
  const at = Number(query.get('at'));
  const check = await store.checks.find(viewer.accountId, checkId);
  const { entries } = await api.call(slotRoutes.listCheckSlots, {
    params: { id: checkId },
    query: { from: String(at), to: String(at + 1), limit: 1000 },
  });
  const slot = entries.find(({ id }) => id === slotId);
  if (!slot)
    throw new AppError('NOT_FOUND', 'This run does not exist. Records of runs are kept for a limited time.');
  if (slot.checkResultId !== null) return { goTo: path`/checks/${checkId}/runs/${slot.checkResultId}` };
  const crumb = crumbs(checkId, check?.name ?? '');
  if (slot.endedAt === null) return inProgress(slot, crumb);
  const several = slot.slotCount > 1 ? `${slot.slotCount} runs were` : 'The run was';
  const main = html`${crumb}
<div class="verdict verdict-missed">${stateBadge('missed')}<h1>${slot.state === 'CANCELLED' ? `${several} cancelled` : `${several} not measured`}</h1>
<p><span class="soft">Reason:</span> ${slot.explanation ?? reasonWords(slot.reason)}</p>
<p class="soft">No data for this time. It counts as a gap, neither up nor down.</p>
${factLine([
  ['Due', instant(slot.scheduledAt)],
  ['Where', visible(slot.location)],
  ['Abandoned', instant(slot.endedAt)],
  ['Code', slot.reason === null ? '' : html`<code>${slot.reason}</code>`],
])}</div>`;
  return { main };
}

/** Refreshes until there is a result. */
function inProgress({ state, scheduledAt, location }: Slot, crumb: Html): View {
  const word = state === 'LEASED' ? 'Running' : 'Queued';
  return {
    title: word,
    main: html`${crumb}<div class="verdict verdict-waiting" data-unfinished>${stateBadge('waiting', word)}<h1>${
      state === 'LEASED' ? 'An agent is running the check' : 'The run waits for an agent'
    }</h1>
<p class="soft">This page updates automatically. The log arrives with the result.</p>
${factLine([
  ['Due', instant(scheduledAt)],
  ['Where', visible(location)],
])}</div>`,
  };
}
