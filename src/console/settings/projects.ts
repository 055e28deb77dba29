import { type DeploymentSummary, type Project, projectRoutes } from '@picket/protocol/projects/project.ts';
import { ago, counted, duration, instant, shortened } from '../elements/format.ts';
import { type State, stateBadge } from '../elements/state.ts';
import { table } from '../elements/table.ts';
import { section, visible } from '../elements/text.ts';
import { type Content, html, withQuery } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageCall, View } from '../page.ts';
import { settingsTabs } from './tabs.ts';

const states: Readonly<Record<string, State>> = {
  SUCCEEDED: 'passed',
  FAILED: 'failed',
  CANCELLED: 'off',
};

/** As many as the service keeps of a project. */
const mostDeployments = 50;

/** Shows projects managed as code, the outcome of their last deployment, and all deployments of the selected one. */
export async function showProjects(call: PageCall): Promise<View> {
  const { api, clock, query } = call;
  const projects = await api.call(projectRoutes.listProjects, {});
  const now = clock.wallMs();
  const selected = projects.find(({ logicalId }) => logicalId === query.get('project'));
  const main = html`${heading('Settings')}${settingsTabs('/settings/projects')}
<p class="lead soft">Resources that are managed as code. The next deployment overwrites changes made here.</p>
${table<Project>({
  caption: 'Projects by name',
  rows: projects,
  empty: 'No projects yet. POST /v1/projects/deploy creates one.',
  columns: [
    {
      title: 'Project',
      cell: ({ name, logicalId }) =>
        html`<a href="${withQuery('/settings/projects', { project: logicalId })}#deployments"${
          logicalId === selected?.logicalId ? html` aria-current="true"` : ''
        }>${visible(shortened(name, 80))}</a>`,
    },
    { title: 'Logical id', cell: ({ logicalId }) => html`<code>${logicalId}</code>` },
    { title: 'Resources', cell: ({ resourceCount }) => counted(resourceCount, 'resource') },
    { title: 'Last deployment', cell: ({ lastDeployment }) => lastOf(lastDeployment, now) },
  ],
})}${selected ? await deploymentsOf(call, selected) : ''}`;
  return { main };
}

async function deploymentsOf({ api, clock }: PageCall, { name, logicalId }: Project): Promise<Content> {
  const deployments = await api.call(projectRoutes.listDeployments, {
    params: { logicalId },
    query: { limit: mostDeployments },
  });
  const now = clock.wallMs();
  return section(
    `Deployments of ${visible(shortened(name, 80))}`,
    table<DeploymentSummary>({
      caption: 'Deployments, the newest first',
      rows: deployments,
      empty: 'It has not been deployed yet.',
      columns: [
        { title: 'Requested', cell: ({ createdAt }) => instant(createdAt) },
        { title: 'Outcome', cell: outcome },
        {
          title: 'Took',
          isNumber: true,
          cell: ({ startedAt, endedAt }) =>
            startedAt === null
              ? ''
              : duration((endedAt === null ? now : Date.parse(endedAt)) - Date.parse(startedAt)),
        },
        { title: 'Why', cell: ({ error }) => (error === null ? '' : visible(shortened(error.message, 400))) },
      ],
    }),
    'deployments',
  );
}

function outcome({ status, progress, endedAt }: DeploymentSummary): Content {
  return stateBadge(states[status] ?? 'waiting', endedAt === null ? `${progress} %` : status.toLowerCase());
}

function lastOf(last: Project['lastDeployment'], now: number): Content {
  if (!last) return 'none';
  const at = Date.parse(last.endedAt ?? last.createdAt);
  const why =
    last.error === null
      ? ''
      : html` <span class="small">${visible(shortened(last.error.message, 400))}</span>`;
  return html`${outcome(last)} <span class="small soft">${ago(at, now)}</span>${why}`;
}
