import type { DashboardData } from '@picket/protocol/pages/public-page.ts';
import type { Assets } from '../../assets.ts';
import { instant } from '../../elements/format.ts';
import { visible } from '../../elements/text.ts';
import { html, path, withQuery } from '../../html.ts';
import { type PublicFrame, publicDocument, publicHeaders } from '../document.ts';
import { type PublicFile, publicFile } from '../files.ts';
import { staleNotice } from '../status-page.ts';
import { dashboardMain } from './view.ts';

/** A page of a dashboard as files, with the headers that all of them have. */
export interface DashboardFiles {
  readonly page: PublicFile;
  /** The same page, saying that it is of an earlier time. */
  readonly stale: PublicFile;
  readonly rules: PublicFile | null;
  readonly isPrivate: boolean;
  readonly headers: Readonly<Record<string, string>>;
}

export interface DashboardAddress {
  readonly address: string;
  /** The key that stood in the address, for links from page to page; a key in a cookie needs none. */
  readonly key: string | undefined;
}

/** A page of a dashboard as a document. */
export function dashboardDocument(
  data: DashboardData,
  {
    assets,
    pageHref,
    isStale = false,
    ...more
  }: {
    readonly assets: Assets;
    readonly pageHref: (page: number) => string;
    readonly isStale?: boolean;
  } & Pick<PublicFrame, 'styles' | 'style' | 'isStill'>,
): string {
  const { dashboard } = data;
  const title = visible(dashboard.header || 'Dashboard');
  return publicDocument(assets, {
    ...more,
    title,
    name: dashboard.showHeader ? title : null,
    logo: dashboard.showHeader ? dashboard.logo : null,
    link: dashboard.link,
    favicon: dashboard.favicon,
    theme: 'auto',
    isWide: dashboard.width === 'FULL',
    main: html`${isStale ? staleNotice(data.generatedAt) : ''}${dashboardMain(data, pageHref)}`,
    footer: html`<span>As of ${instant(data.generatedAt)}</span>`,
  });
}

export async function dashboardFiles(
  data: DashboardData,
  {
    assets,
    isPrivate,
    at,
  }: { readonly assets: Assets; readonly isPrivate: boolean; readonly at: DashboardAddress },
): Promise<DashboardFiles> {
  const { dashboard, pagination } = data;
  const own = path`/dashboards/${at.address}`;
  const pageHref = (page: number) => withQuery(own, { page, key: at.key });
  const styles = dashboard.customCSS ? [withQuery(`${own}/custom.css`, { key: at.key })] : [];
  const document = (isStale: boolean) => dashboardDocument(data, { assets, pageHref, styles, isStale });
  const htmlType = 'text/html; charset=utf-8';
  // Screens on walls have nobody to reload them or to turn the page.
  const next = pagination.page >= pagination.pages ? 1 : pagination.page + 1;
  const refresh =
    pagination.pages > 1
      ? `${dashboard.paginationRate}; url=${pageHref(next)}`
      : String(dashboard.refreshRate);
  return {
    page: await publicFile(htmlType, document(false)),
    stale: await publicFile(htmlType, document(true)),
    rules: dashboard.customCSS ? await publicFile('text/css; charset=utf-8', dashboard.customCSS) : null,
    isPrivate,
    headers: { ...publicHeaders([dashboard.logo, dashboard.favicon]), refresh },
  };
}
