import { privateLocationRoutes } from '@picket/protocol/locations/private-location.ts';
import { ago, counted, shortened } from '../elements/format.ts';
import { icon } from '../elements/icon.ts';
import { visible } from '../elements/text.ts';
import { type Content, html, path } from '../html.ts';
import type { PageCall } from '../page.ts';

const mostShown = 3;

/** A banner for each location without agents that has active checks: nothing measures them there. */
export async function unservedBanners({ api, store, viewer }: PageCall, now: number): Promise<Content> {
  const locations = await api.call(privateLocationRoutes.listPrivateLocations, {});
  const away = locations.filter(({ health }) => health.presentAgents === 0);
  const active = await store.overviews.activeAt(
    viewer.accountId,
    away.map(({ slugName }) => slugName),
  );
  const unserved = away.filter(({ slugName }) => active.has(slugName));
  const hidden = unserved.length - mostShown;
  return html`${unserved.slice(0, mostShown).map(({ id, name, slugName, health: { since, state } }) => {
    const isNew = state === 'never-seen';
    return html`<p class="banner">${icon('alert')}<span><a href="${path`/locations/${id}`}">${visible(shortened(name, 60))}</a> has no agent${isNew ? ' yet' : since === null ? '' : html`, since ${ago(Date.parse(since), now)}`}: ${counted(active.get(slugName) ?? 0, 'check')} ${active.get(slugName) === 1 ? 'is' : 'are'} not measured there.</span> <a class="banner-act" href="${path`/locations/${id}`}">Start an agent</a></p>`;
  })}${hidden > 0 ? html`<p class="banner">${icon('alert')}<span>${counted(hidden, 'other location')} ${hidden === 1 ? 'has' : 'have'} no agent, either.</span> <a class="banner-act" href="/locations">All locations</a></p>` : ''}`;
}
