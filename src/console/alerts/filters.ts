import { alertChannelRoutes } from '@picket/protocol/alerts/alert-channel.ts';
import { entryStates } from '@picket/protocol/alerts/alert-entry.ts';
import { shortened } from '../elements/format.ts';
import { type Html, html, withQuery } from '../html.ts';
import type { PageCall } from '../page.ts';
import { channelName } from './channel-words.ts';

const dayMs = 86_400_000;

/** Conditions of the list of alerts, as the address has them; wrong values are left out. */
export interface AlertFilters {
  readonly state: (typeof entryStates)[number] | undefined;
  readonly search: string | undefined;
  readonly check: string | undefined;
  readonly group: string | undefined;
  readonly tag: string | undefined;
  readonly location: string | undefined;
  readonly channel: string | undefined;
  /** How many days back ended alerts are listed. */
  readonly days: number;
}

const dayChoices = [1, 7, 30, 90] as const;
const defaultDays = 7;

export function filtersOf(query: URLSearchParams): AlertFilters {
  const text = (name: string, length: number) => query.get(name)?.trim().slice(0, length) || undefined;
  const number = (name: string) => /^[1-9]\d{0,11}$/.exec(query.get(name) ?? '')?.[0];
  const check = text('check', 36);
  return {
    state: entryStates.find((one) => one === query.get('state')?.toUpperCase()),
    search: text('q', 200),
    check: check && /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(check) ? check : undefined,
    group: number('group'),
    tag: text('tag', 255),
    location: text('location', 64),
    channel: number('channel'),
    days: dayChoices.find((one) => String(one) === query.get('days')) ?? defaultDays,
  };
}

/** The conditions as the operation takes them. */
export function queryOf({ days, ...filters }: AlertFilters, now: number) {
  const { state, search, check: checkId, group: groupId, tag, location, channel: alertChannelId } = filters;
  return {
    ...(state === undefined ? {} : { state }),
    ...(search === undefined ? {} : { search }),
    ...(checkId === undefined ? {} : { checkId }),
    ...(groupId === undefined ? {} : { groupId }),
    ...(tag === undefined ? {} : { tag }),
    ...(location === undefined ? {} : { location }),
    ...(alertChannelId === undefined ? {} : { alertChannelId }),
    ...(state === 'ENDED' ? { from: new Date(now - days * dayMs).toISOString() } : {}),
  };
}

/** The address of the list with these conditions. */
export function listAddress(
  { state, search, days, ...others }: AlertFilters,
  more: Readonly<Record<string, string | number | undefined>> = {},
): string {
  const shownDays = days === defaultDays ? undefined : days;
  return withQuery('/alerts', {
    state: state?.toLowerCase(),
    q: search,
    ...others,
    days: shownDays,
    ...more,
  });
}

const stateWords = {
  '': 'All open',
  open: 'Not handled',
  acknowledged: 'Acknowledged',
  silenced: 'Silenced',
  ended: 'Ended',
} as const;

/** The form of the conditions; it only reads, so that its address can be kept. */
export async function filterForm(
  { api, store, viewer }: PageCall,
  filters: AlertFilters,
  checkName: string | undefined,
): Promise<Html> {
  const choices = await store.overviews.choices(viewer.accountId);
  const channels = await api.call(alertChannelRoutes.listAlertChannels, { query: { limit: 100 } });
  const { state, search = '', check, group, tag, location, channel, days } = filters;
  const asked = [group, tag, location, channel].filter((one) => one !== undefined).length;
  return html`<form class="filters alert-filters" method="get" action="/alerts"><div class="filter-row">
<input type="search" name="q" value="${search}" placeholder="Search by name" aria-label="Search by name">
${select('State', 'state', state?.toLowerCase() ?? '', Object.entries(stateWords))}
${
  state === 'ENDED'
    ? select(
        'Time',
        'days',
        String(days),
        dayChoices.map((one) => [String(one), one === 1 ? 'last 24 hours' : `last ${one} days`]),
      )
    : ''
}
<details class="more-filters"${asked > 0 ? html` open` : ''}><summary>More filters${asked > 0 ? ` (${asked})` : ''}</summary><div class="filter-row">
${optional(
  'Group',
  'group',
  group,
  choices.groups.map(({ id, name }) => [String(id), name]),
)}
${optional(
  'Tag',
  'tag',
  tag,
  choices.tags.map((one) => [one, one]),
)}
${optional(
  'Location',
  'location',
  location,
  choices.locations.map((one) => [one, one]),
)}
${optional(
  'Channel',
  'channel',
  channel,
  channels.map((one) => [String(one.id), channelName(one)]),
)}
</div></details>
<button class="button" type="submit">Show</button>${check === undefined ? '' : html`<input type="hidden" name="check" value="${check}"><a class="tag" href="${listAddress({ ...filters, check: undefined })}">${shortened(checkName ?? check, 40)} ×<span class="hidden"> Remove this filter</span></a>`}
</div></form>`;
}

type Options = readonly (readonly [value: string, word: string])[];

function optional(label: string, name: string, value: string | undefined, options: Options): Html | '' {
  if (options.length === 0 && value === undefined) return '';
  // A value of a kept address stays, even if nothing has it any longer.
  const known = value === undefined || options.some(([one]) => one === value);
  const all: Options = known ? options : [...options, [value ?? '', value ?? '']];
  return select(label, name, value ?? '', [['', 'any'], ...all]);
}

function select(label: string, name: string, value: string, options: Options): Html {
  return html`<label>${label} <select name="${name}">${options.map(
    ([one, word]) =>
      html`<option value="${one}"${one === value ? html` selected` : ''}>${shortened(word, 60)}</option>`,
  )}</select></label>`;
}
