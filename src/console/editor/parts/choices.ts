import { findChannelKind } from '@picket/channels/index.ts';
import { alertChannelRoutes } from '@picket/protocol/alerts/alert-channel.ts';
import { checkRoutes } from '@picket/protocol/checks/check.ts';
import { runtimeRoutes } from '@picket/protocol/checks/runtime.ts';
import { privateLocationRoutes } from '@picket/protocol/locations/private-location.ts';
import { statusPageRoutes } from '@picket/protocol/pages/status-page.ts';
import { channelName } from '../../alerts/channel-words.ts';
import type { Choice } from '../../elements/form.ts';
import { shortened } from '../../elements/format.ts';
import { icon } from '../../elements/icon.ts';
import { visible } from '../../elements/text.ts';
import { linesOf } from '../../forms/values.ts';
import type { FieldWords } from '../../forms/view.ts';
import type { Content } from '../../html.ts';
import { healthBadge } from '../../locations/health.ts';
import type { PageCall } from '../../page.ts';
import { bundleChoices } from './bundles.ts';

/** Longer lists are truncated; the API accepts the entries that are not shown. */
const pageLimit = 100;
const wordLength = 80;
const mostFound = 8;
/** With more locations than this, a user chooses. */
const mostPreticked = 3;

/** Offers of a form for the fields that refer to other objects, by their patterns. */
export type Choices = ReadonlyMap<string, Partial<FieldWords>>;

/** The state of the form for which choices are offered. */
interface Shown {
  readonly values: URLSearchParams;
  /** The check of the form, which cannot depend on itself. */
  readonly checkId?: string | undefined;
  /** The path of the form. */
  readonly to: string;
  /** Whether the form has a code bundle. */
  readonly hasBundle?: boolean;
}

/** Returns the resources that checks and groups may reference, by the patterns of the referencing fields. */
export async function choicesOf(call: PageCall, shown: Shown): Promise<Choices> {
  const { api, store, viewer } = call;
  const page = { query: { limit: pageLimit } };
  const [locations, { groups, tags }, channels, snippets, services, runtimes, parents, bundles] =
    await Promise.all([
      locationChoices(call),
      store.overviews.choices(viewer.accountId),
      api.call(alertChannelRoutes.listAlertChannels, page),
      store.snippets.ofAccounts([viewer.accountId]),
      api.call(statusPageRoutes.listServices, page),
      api.call(runtimeRoutes.listRuntimes, {}),
      checkChoices(call, shown),
      shown.hasBundle ? bundleChoices(call) : undefined,
    ]);
  const named = (list: readonly { readonly id: string | number; readonly name: string }[]) => ({
    choices: list.map(({ id, name }) => ({ value: String(id), word: word(name) })),
  });
  return new Map<string, Partial<FieldWords>>([
    ['privateLocations', { choices: locations }],
    ['groupId', named(groups)],
    ['tags', { suggestions: tags.map(visible) }],
    [
      'alertChannelSubscriptions',
      {
        choices: channels.map((one) => ({
          ...{ value: String(one.id), word: word(channelName(one)) },
          before: channelIcon(one.type),
        })),
      },
    ],
    ['setupSnippetId', named(snippets)],
    ['tearDownSnippetId', named(snippets)],
    ['triggerIncident.serviceId', named(services.entries)],
    [
      'runtimeId',
      {
        choices: runtimes.map(({ name, stage, nodeJsVersion }) => ({
          value: name,
          word: `${name}: Node.js ${nodeJsVersion.replace(/^v/, '')}, ${stage.toLowerCase()}`,
        })),
      },
    ],
    ['parentCheckIds', parents],
    ...(bundles ? [['codeBundlePath', bundles] as const] : []),
  ]);
}

/** Returns private locations with their health: users see before saving where nothing can be measured. */
export async function locationChoices({ api, clock }: PageCall): Promise<Choice[]> {
  const locations = await api.call(privateLocationRoutes.listPrivateLocations, { query: {} });
  return locations.map((location) => ({
    value: location.slugName,
    word:
      location.name === location.slugName
        ? location.slugName
        : `${visible(shortened(location.name, wordLength))} (${location.slugName})`,
    note: healthBadge(location, clock.wallMs()),
  }));
}

/** Returns the locations of a new check: those with agents if they are few, or the only one. */
export async function preticked({ api }: PageCall): Promise<string[]> {
  const locations = await api.call(privateLocationRoutes.listPrivateLocations, { query: {} });
  const served = locations.filter(({ agentCount }) => agentCount > 0);
  const few = served.length > 0 && served.length <= mostPreticked ? served : [];
  return (locations.length === 1 ? locations : few).map(({ slugName }) => slugName);
}

/** Returns the checks that a form names, and those that its search finds: without a text, the newest ones. */
async function checkChoices(
  { api, store, viewer }: PageCall,
  { values, checkId }: Shown,
): Promise<Partial<FieldWords>> {
  const search = values.get('$find.parentCheckIds')?.trim().slice(0, 255) ?? '';
  const [chosen, found] = await Promise.all([
    store.checks.findMany(linesOf(values, 'parentCheckIds').filter((id) => /^[0-9a-f-]{36}$/.test(id))),
    api.call(checkRoutes.listChecks, {
      query: { limit: mostFound + 1, ...(search === '' ? {} : { search }) },
    }),
  ]);
  const own = [...chosen.values()].filter(({ accountId }) => accountId === viewer.accountId);
  const others = found.filter(({ id }) => id !== checkId && !chosen.has(id)).slice(0, mostFound);
  return {
    search,
    choices: [...own, ...others].map(({ id, name }) => ({ value: id, word: word(name) })),
  };
}

function channelIcon(type: string): Content {
  const kind: { readonly title: string; readonly icon?: string } | undefined = findChannelKind(type);
  return kind?.icon === undefined ? '' : icon(kind.icon);
}

function word(name: string): string {
  return visible(shortened(name, wordLength));
}
