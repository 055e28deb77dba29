import { dashboardRoutes } from '@picket/protocol/pages/dashboard.ts';
import type { CustomDomainState } from '@picket/protocol/pages/page-fields.ts';
import { statusPageRoutes } from '@picket/protocol/pages/status-page.ts';
import { ApiError } from '../api/api-error.ts';
import type { ApiClient } from '../api/client.ts';
import type { Run } from '../api/command.ts';
import { table } from '../api/text.ts';

interface Domain extends CustomDomainState {
  readonly domain: string;
  readonly page: string;
  readonly kind: 'status page' | 'dashboard';
  readonly pageId: string;
}

/** `picket domain list` */
export const listDomains: Run = async (api) => {
  const domains = await domainsOf(api);
  const lines = (width: number) =>
    domains.length === 0
      ? ['No page has a custom domain.']
      : table(
          ['STATE', 'NAME', 'PAGE', 'PROBLEM'],
          domains.map(({ status, domain, page, problem }) => [status, domain, page, problem ?? '']),
          width,
        );
  return { json: domains, lines };
};

/** `picket domain check HOST` */
export const checkDomain: Run = async (api, [host = '']) => {
  const domains = await domainsOf(api);
  const found = domains.find(({ domain }) => domain === host.toLowerCase().replace(/\.$/, ''));
  if (!found) throw new ApiError(`No page of the account has the domain ${host}.`, true);
  const { pageId, kind } = found;
  const { customDomainState: state } =
    kind === 'dashboard'
      ? await api.call(dashboardRoutes.checkDashboardDomain, { params: { dashboardId: pageId } })
      : await api.call(statusPageRoutes.checkStatusPageDomain, { params: { statusPageId: pageId } });
  if (!state) throw new ApiError(`The ${kind} no longer has a domain.`);
  const isProven = state.status === 'PROVEN';
  const { record, cname, problem } = state;
  const lines = () => [
    `${found.domain} of the ${kind} "${found.page}": ${state.status}${state.method === null ? '' : ` by ${state.method}`}`,
    ...(problem === null ? [] : [problem]),
    ...(isProven ? [] : [`Either of these records proves it:`, `  ${record.name} TXT "${record.value}"`]),
    ...(isProven || cname === null ? [] : [`  ${found.domain} CNAME ${cname}`]),
  ];
  return { json: { ...found, ...state }, lines, exitCode: isProven ? 0 : 1 };
};

async function domainsOf(api: ApiClient): Promise<Domain[]> {
  const pages = await api.allEntries(statusPageRoutes.listStatusPages);
  const boards = await api.all(dashboardRoutes.listDashboards);
  return [
    ...pages.map((page) => ({ ...page, kind: 'status page' as const, pageId: page.id, page: page.name })),
    ...boards.map((board) => ({
      ...{ ...board, kind: 'dashboard' as const, pageId: board.dashboardId },
      page: board.header ?? board.dashboardId,
    })),
  ].flatMap(({ customDomain, customDomainState, kind, pageId, page }) =>
    customDomain && customDomainState
      ? [{ domain: customDomain, page, kind, pageId, ...customDomainState }]
      : [],
  );
}
