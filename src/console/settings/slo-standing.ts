import { decimalText } from '@picket/lib/figures/count.ts';
import { leftText, shareOfPercent } from '@picket/lib/figures/share.ts';
import { alertChannelRoutes } from '@picket/protocol/alerts/alert-channel.ts';
import { sloRoutes } from '@picket/protocol/results/slo.ts';
import { coverageText } from '@picket/protocol/runs/coverage.ts';
import { channelName } from '../alerts/channel-words.ts';
import { counted, countText, percent, shortened } from '../elements/format.ts';
import { type State, stateBadge } from '../elements/state.ts';
import { facts } from '../elements/table.ts';
import { section } from '../elements/text.ts';
import type { Words } from '../forms/view.ts';
import { type Content, html } from '../html.ts';
import type { PageCall } from '../page.ts';
import type { Shown } from './appearance.ts';

/** Maximum number of checks in the selection; for more, use tags. */
const mostChoices = 500;
const mostChannels = 100;

/** Returns the possible subjects of an objective in this account. */
export async function sloSubjects({ api, store, viewer, clock }: PageCall): Promise<Words> {
  const { accountId } = viewer;
  const page = { limit: mostChoices, offset: 0 };
  const [channels, choices, checks] = await Promise.all([
    api.call(alertChannelRoutes.listAlertChannels, { query: { limit: mostChannels } }),
    store.overviews.choices(accountId),
    store.overviews.list(accountId, {}, { page, now: clock.wallMs() }),
  ]);
  return {
    checkId: {
      label: 'Check',
      choices: checks.map(({ id, name }) => ({ value: id, word: shortened(name, 80) })),
    },
    groupId: {
      label: 'Group',
      choices: choices.groups.map(({ id, name }) => ({ value: String(id), word: shortened(name, 80) })),
    },
    alertChannelIds: {
      choices: channels.map((channel) => ({
        value: String(channel.id),
        word: shortened(channelName(channel), 80),
      })),
    },
    tags: { hint: 'Checks with any of these tags. One per line.' },
  };
}

const words: Readonly<Record<string, readonly [State, string]>> = {
  MET: ['passed', 'Met'],
  UNPROVEN: ['degraded', 'Met, as far as measured'],
  BREACHED: ['failed', 'Breached'],
  UNKNOWN: ['missed', 'Not measured'],
};

/** Shows the current state of an objective. */
export async function sloStanding({ api }: PageCall, { id }: Shown): Promise<Content> {
  const standing = await api.call(sloRoutes.getSloStatus, { params: { id: id as number } });
  const { state, availability, coverage, errorBudget, burnRates, checkIds } = standing;
  const [badge, word] = words[state] ?? ['missed', state];
  const { leftPercent, leftPercentAtWorst, failedRuns, allowedRuns } = errorBudget;
  const left =
    leftPercent === null
      ? undefined
      : `${leftText(leftPercent)} (at worst ${leftText(leftPercentAtWorst ?? leftPercent)})`;
  return section(
    'Status',
    facts([
      ['State', stateBadge(badge, word)],
      ['Checks', counted(checkIds.length, 'check')],
      ['Availability', availability === null ? undefined : percent(shareOfPercent(availability))],
      ['Measured', coverageText(coverage) ?? 'all of it'],
      ['Failed runs', `${countText(failedRuns)} of ${decimalText(allowedRuns, 1)} allowed by the target`],
      ['Error budget left', left],
      [
        'Burn rate',
        burnRates.flatMap(({ hours, rate }) =>
          rate === null ? [] : [html`<span class="figure">${hours} h: ${decimalText(rate, 2)}×</span> `],
        ),
      ],
    ]),
  );
}
