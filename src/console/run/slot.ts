import { AppError } from '@picket/lib/errors.ts';
import { slotRoutes } from '@picket/protocol/runs/slot.ts';
import { reasonWords } from '../elements/charts/slot-bar.ts';
import { instant } from '../elements/format.ts';
import { stateBadge } from '../elements/state.ts';
import { visible } from '../elements/text.ts';
import { html } from '../html.ts';
import type { PageCall, View } from '../page.ts';
import { factLine } from './facts.ts';
import { crumbs } from './parts.ts';

/** Shows a slot without a result, and why it was not measured. */
export async function slotPage({ api, params, query, store, viewer }: PageCall): Promise<View> {
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
  const several = slot.slotCount > 1 ? `${slot.slotCount} runs were` : 'The run was';
  const main = html`${crumbs(checkId, check?.name ?? '')}
<div class="verdict verdict-missed">${stateBadge('missed')}<h1>${slot.state === 'CANCELLED' ? `${several} cancelled` : `${several} not measured`}</h1>
<p><span class="soft">Reason:</span> ${slot.explanation ?? reasonWords(slot.reason)}</p>
<p class="soft">No data for this time. It counts as a gap, neither up nor down.</p>
${factLine([
  ['Due', instant(slot.scheduledAt)],
  ['Where', visible(slot.location)],
  ['Abandoned', slot.endedAt ? instant(slot.endedAt) : ''],
  ['Code', slot.reason === null ? '' : html`<code>${slot.reason}</code>`],
])}</div>`;
  return { main };
}
