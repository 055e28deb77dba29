import type { DashboardData } from '@picket/protocol/pages/public-page.ts';
import type { Assets } from '../../assets.ts';
import { instant } from '../../elements/format.ts';
import { visible } from '../../elements/text.ts';
import { html, path, withQuery } from '../../html.ts';
import { type PublicFrame, publicDocument, publicHeaders } from '../document.ts';
import { type PublicFile, publicFile } from '../files.ts';
import { staleNotice } from '../status-page.ts';
import { dashboardMain } from './view.ts';

/** Files of a dashboard page, with their common headers. */
export interface DashboardFiles {
  readonly page: PublicFile;
  /** The same page with a notice that it is out of date. */
  readonly stale: PublicFile;
  readonly rules: PublicFile | null;
  readonly isPrivate: boolean;
  readonly headers: Readonly<Record<string, string>>;
}

export interface DashboardAddress {
  readonly address: string;
  /** The key in the address, for links between pages; a key in a cookie needs none. */
  readonly key: string | undefined;
}

/** Renders a page of a dashboard as a document. */
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
  // A wall screen has no user to reload it or to turn its page.
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
