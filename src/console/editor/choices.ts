import { alertChannelRoutes } from '@picket/protocol/alerts/alert-channel.ts';
import { privateLocationRoutes } from '@picket/protocol/locations/private-location.ts';
import { statusPageRoutes } from '@picket/protocol/pages/status-page.ts';
import { channelName } from '../alerts/channel-words.ts';
import type { Choice } from '../elements/form.ts';
import { shortened } from '../elements/format.ts';
import { visible } from '../elements/text.ts';
import { healthBadge } from '../locations/health.ts';
import type { PageCall } from '../page.ts';

/** Longer lists are truncated; the API accepts the entries that are not shown. */
const pageLimit = 100;
const wordLength = 80;

export type Choices = ReadonlyMap<string, readonly Choice[]>;

/** Returns the resources that checks and groups may reference, by the patterns of the referencing fields. */
export async function choicesOf(call: PageCall): Promise<Choices> {
  const { api, store, viewer } = call;
  const page = { query: { limit: pageLimit } };
  const [locations, { groups }, channels, snippets, services] = await Promise.all([
    locationChoices(call),
    store.overviews.choices(viewer.accountId),
    api.call(alertChannelRoutes.listAlertChannels, page),
    store.snippets.ofAccounts([viewer.accountId]),
    api.call(statusPageRoutes.listServices, page),
  ]);
  const named = (list: readonly { readonly id: string | number; readonly name: string }[]) =>
    list.map(({ id, name }) => ({ value: String(id), word: visible(shortened(name, wordLength)) }));
  return new Map([
    ['privateLocations', locations],
    ['groupId', named(groups)],
    [
      'alertChannelSubscriptions',
      channels.map((one) => ({
        value: String(one.id),
        word: visible(shortened(channelName(one), wordLength)),
      })),
    ],
    ['setupSnippetId', named(snippets)],
    ['tearDownSnippetId', named(snippets)],
    ['triggerIncident.serviceId', named(services.entries)],
  ]);
}

/** Returns private locations with their health: users see before saving where nothing can be measured. */
export async function locationChoices({ api, clock }: PageCall): Promise<Choice[]> {
  const locations = await api.call(privateLocationRoutes.listPrivateLocations, { query: {} });
  return locations.map((location) => ({
    value: location.slugName,
    word: `${visible(shortened(location.name, wordLength))} (${location.slugName})`,
    note: healthBadge(location, clock.wallMs()),
  }));
}
