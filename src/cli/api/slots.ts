import { counted, countText } from '@picket/lib/figures/count.ts';
import { percentText, shareOf } from '@picket/lib/figures/share.ts';
import { type SlotCounts, slotReasons, slotRoutes, slotStates } from '@picket/protocol/runs/slot.ts';
import { ApiError } from './api-error.ts';
import type { Run } from './command.ts';
import { findCheck } from './find-check.ts';
import { durationMs, printable, table } from './text.ts';

const dayMs = 86_400_000;
const shownAtMost = 20;

/** `picket slots CHECK` */
export const showSlots: Run = async (api, [named = ''], { since, location, state = 'MISSED' }) => {
  const lengthMs = since === undefined ? dayMs : durationMs(String(since));
  if (lengthMs === undefined) throw new ApiError('--since needs a period: 30m, 24h, 7d.', true);
  if (!slotStates.some((one) => one === state)) {
    throw new ApiError(`--state must be one of ${slotStates.join(', ')}.`, true);
  }
  const { id, name } = await findCheck(api, named);
  const from = new Date(Date.now() - lengthMs).toISOString();
  const place = typeof location === 'string' ? { location } : {};
  const counts = await api.call(slotRoutes.countCheckSlots, { params: { id }, query: { from, ...place } });
  const { entries } = await api.call(slotRoutes.listCheckSlots, {
    params: { id },
    query: { from, ...place, state: String(state), limit: shownAtMost },
  });
  const reasons = Object.keys(counts.missed).flatMap((reason) =>
    reason in slotReasons ? [`${reason}: ${slotReasons[reason as keyof typeof slotReasons]}`] : [],
  );
  const rows = entries.map((slot) => [
    slot.scheduledAt,
    slot.location,
    slot.state,
    String(slot.slotCount),
    slot.reason ?? '',
  ]);
  const lines = (width: number) => [
    `${printable(name)}, since ${from}: ${countsText(counts)}`,
    ...reasons.map((reason) => `  ${reason}`),
    ...(rows.length === 0
      ? []
      : ['', ...table(['DUE', 'LOCATION', 'STATE', 'SLOTS', 'REASON'], rows, width)]),
  ];
  return { json: { checkId: id, from, counts, slots: entries }, lines };
};

function countsText({ due, final, missed, cancelled, onTheirWay }: SlotCounts): string {
  if (due === 0) return 'no slot was due.';
  const ended = due - onTheirWay;
  const part = shareOf(final, ended);
  const byReason = Object.entries({ ...missed, ...cancelled }).map(
    ([reason, count]) => `${countText(count)} ${reason}`,
  );
  const parts = [
    `${counted(due, 'slot')} due`,
    `${countText(final)} completed${part === null ? '' : ` (${percentText(part)})`}`,
    ...byReason,
    ...(onTheirWay > 0 ? [`${countText(onTheirWay)} in progress`] : []),
  ];
  return `${parts.join(', ')}.`;
}
