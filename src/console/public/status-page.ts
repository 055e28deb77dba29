import type { StatusPageData } from '@picket/protocol/pages/public-page.ts';
import { unmeasured } from '@picket/service/pages/measured-now.ts';
import type { Assets } from '../assets.ts';
import { instant } from '../elements/format.ts';
import { visible } from '../elements/text.ts';
import { html, path, withQuery } from '../html.ts';
import { coloursOf } from './colours.ts';
import { type PublicFrame, publicDocument, publicHeaders } from './document.ts';
import { atomFeed, jsonFeed, rssFeed } from './feeds.ts';
import { type PublicFile, publicFile } from './files.ts';
import { statusMain } from './status-view.ts';
import { subscribeForm } from './subscribing/form.ts';

/** Files of a status page, with their common headers. */
export interface StatusPageFiles {
  readonly page: PublicFile;
  /** The same page with a notice that it is out of date. */
  readonly stale: PublicFile;
  readonly atom: PublicFile;
  readonly rss: PublicFile;
  readonly json: PublicFile;
  readonly colours: PublicFile | null;
  readonly isPrivate: boolean;
  readonly headers: Readonly<Record<string, string>>;
}

interface StatusDocument {
  readonly assets: Assets;
  /** Path of the page; absent for a preview, which has no links. */
  readonly own?: string;
  /** The key in the address, for links of the page; a key in a cookie needs none. */
  readonly key?: string | undefined;
  readonly isStale?: boolean;
  readonly isStill?: boolean;
  readonly style?: PublicFrame['style'];
  /** Whether readers may subscribe by mail. */
  readonly takesSubscriptions?: boolean;
}

const feedsOf = (own: string, key: string | undefined) =>
  feeds.map((feed) => ({ ...feed, path: withQuery(`${own}${feed.path}`, { key }) }));
const feeds = [
  { type: 'application/atom+xml', title: 'Incidents (Atom)', path: '/incidents.atom' },
  { type: 'application/rss+xml', title: 'Incidents (RSS)', path: '/incidents.rss' },
  { type: 'application/feed+json', title: 'Incidents (JSON Feed)', path: '/incidents.json' },
];

/** Renders the page as a document. */
export function statusDocument(data: StatusPageData, options: StatusDocument): string {
  const { page } = data;
  const { assets, own, key, isStale = false, isStill = false, style, takesSubscriptions = false } = options;
  const feeds = own === undefined ? [] : feedsOf(own, key);
  const name = visible(page.name);
  return publicDocument(assets, {
    title: name,
    name,
    logo: page.logo,
    logoDark: page.logoDark,
    isListed: page.allowIndexing,
    analyticsTag: page.googleAnalyticsTag,
    link: page.redirectTo,
    favicon: page.favicon,
    theme: ({ AUTO: 'auto', LIGHT: 'light', DARK: 'dark' } as const)[page.defaultTheme],
    description: page.description === null ? null : visible(page.description),
    styles: page.themeColors && own !== undefined ? [withQuery(`${own}/colours.css`, { key })] : [],
    feeds,
    isStill,
    ...(style ? { style } : {}),
    main: html`${isStale ? staleNotice(data.generatedAt) : ''}${statusMain(isStale ? unmeasured(data) : data, takesSubscriptions ? subscribeForm(withQuery(path`/status/${page.url}/subscribe`, { key })) : '')}`,
    footer: html`${page.footerText ? html`<span class="prose">${visible(page.footerText)}</span>` : ''}${footerLinks(page)}<span>As of ${instant(data.generatedAt)}</span>${feeds.map((feed) => html`<a href="${feed.path}">${feed.title}</a>`)}`,
  });
}

export async function statusPageFiles(
  data: StatusPageData,
  {
    assets,
    own,
    absolute,
    key,
    takesSubscriptions,
  }: {
    readonly assets: Assets;
    /** Address of the page: as a path without a trailing slash, and with its origin. */
    readonly own: string;
    readonly absolute: string;
    readonly key: string | undefined;
    readonly takesSubscriptions: boolean;
  },
): Promise<StatusPageFiles> {
  const { page } = data;
  const document = (isStale: boolean) =>
    statusDocument(data, { assets, own, key, isStale, takesSubscriptions });
  const htmlType = 'text/html; charset=utf-8';
  const at = (end: string) => `${absolute}/incidents.${end}`;
  return {
    page: await publicFile(htmlType, document(false)),
    stale: await publicFile(htmlType, document(true)),
    atom: await publicFile('application/atom+xml; charset=utf-8', atomFeed(data, absolute, at('atom'))),
    rss: await publicFile('application/rss+xml; charset=utf-8', rssFeed(data, absolute, at('rss'))),
    json: await publicFile('application/feed+json; charset=utf-8', jsonFeed(data, absolute, at('json'))),
    colours: page.themeColors
      ? await publicFile('text/css; charset=utf-8', coloursOf(page.themeColors))
      : null,
    isPrivate: page.isPrivate,
    headers: {
      ...publicHeaders([page.logo, page.logoDark, page.favicon], {
        hasAnalytics: Boolean(page.googleAnalyticsTag),
      }),
      ...(page.allowIndexing ? {} : { 'x-robots-tag': 'noindex' }),
    },
  };
}

function footerLinks(page: StatusPageData['page']) {
  const links = [
    [page.supportLink, 'Support'],
    [page.privacyPolicyLink, 'Privacy policy'],
    [page.termsOfServiceLink, 'Terms of service'],
  ] as const;
  return links.map(([to, word]) => (to ? html`<a href="${to}" rel="noopener nofollow">${word}</a>` : ''));
}

/** Notice on a page that could not be refreshed. */
export function staleNotice(generatedAt: string) {
  return html`<p class="notice" role="status">State as of ${instant(generatedAt)}. The current state is not available at the moment.</p>`;
}

export function sizeOf({ page, stale, atom, rss, json }: StatusPageFiles): number {
  return [page, stale, atom, rss, json].reduce((sum, { content }) => sum + content.length, 2_000);
}
