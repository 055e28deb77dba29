import type { StatusPageData } from '../../../protocol/pages/public-page.ts';
import type { Assets } from '../assets.ts';
import { instant } from '../elements/format.ts';
import { visible } from '../elements/text.ts';
import { html, path } from '../html.ts';
import { coloursOf } from './colours.ts';
import { publicDocument, publicHeaders } from './document.ts';
import { atomFeed, jsonFeed } from './feeds.ts';
import { type PublicFile, publicFile } from './files.ts';
import { statusMain } from './status-view.ts';

/** A status page as files, with the headers that all of them have. */
export interface StatusPageFiles {
  readonly page: PublicFile;
  /** The same page, saying that it is of an earlier time. */
  readonly stale: PublicFile;
  readonly atom: PublicFile;
  readonly json: PublicFile;
  readonly colours: PublicFile | null;
  readonly headers: Readonly<Record<string, string>>;
}

export async function statusPageFiles(
  data: StatusPageData,
  { assets, publicUrl }: { readonly assets: Assets; readonly publicUrl?: string | undefined },
): Promise<StatusPageFiles> {
  const { page } = data;
  const own = path`/status/${page.url}`;
  const absolute = `${publicUrl?.replace(/\/+$/, '') ?? ''}${own}`;
  const feeds = [
    { type: 'application/atom+xml', title: 'Incidents (Atom)', path: `${own}/incidents.atom` },
    { type: 'application/feed+json', title: 'Incidents (JSON Feed)', path: `${own}/incidents.json` },
  ];
  const name = visible(page.name);
  const document = (isStale: boolean) =>
    publicDocument(assets, {
      title: name,
      name,
      logo: page.logo,
      link: page.redirectTo,
      favicon: page.favicon,
      theme: ({ AUTO: 'auto', LIGHT: 'light', DARK: 'dark' } as const)[page.defaultTheme],
      description: page.description === null ? null : visible(page.description),
      styles: page.themeColors ? [`${own}/colours.css`] : [],
      feeds,
      main: html`${isStale ? staleNotice(data.generatedAt) : ''}${statusMain(data, '')}`,
      footer: html`<span>As of ${instant(data.generatedAt)}</span>${feeds.map((feed) => html`<a href="${feed.path}">${feed.title}</a>`)}`,
    });
  const htmlType = 'text/html; charset=utf-8';
  const [atomUrl, jsonUrl] = [`${absolute}/incidents.atom`, `${absolute}/incidents.json`];
  return {
    page: await publicFile(htmlType, document(false)),
    stale: await publicFile(htmlType, document(true)),
    atom: await publicFile('application/atom+xml; charset=utf-8', atomFeed(data, absolute, atomUrl)),
    json: await publicFile('application/feed+json; charset=utf-8', jsonFeed(data, absolute, jsonUrl)),
    colours: page.themeColors
      ? await publicFile('text/css; charset=utf-8', coloursOf(page.themeColors))
      : null,
    headers: publicHeaders([page.logo, page.favicon]),
  };
}

/** What stands over a page that could not be made anew. */
export function staleNotice(generatedAt: string) {
  return html`<p class="notice" role="status">This is how things were as of ${instant(generatedAt)}. The present state is not known here at the moment.</p>`;
}

export function sizeOf({ page, stale, atom, json }: StatusPageFiles): number {
  return [page, stale, atom, json].reduce((sum, { content }) => sum + content.length, 2_000);
}
