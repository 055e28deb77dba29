import { type Project, projectRoutes } from '@picket/protocol/projects/project.ts';
import { ago, counted, shortened } from '../elements/format.ts';
import { type State, stateBadge } from '../elements/state.ts';
import { table } from '../elements/table.ts';
import { visible } from '../elements/text.ts';
import { type Content, html } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageCall, View } from '../page.ts';
import { settingsTabs } from './tabs.ts';

const states: Readonly<Record<string, State>> = {
  SUCCEEDED: 'passed',
  FAILED: 'failed',
  CANCELLED: 'off',
};

/** Shows projects managed as code, and the outcome of their last deployment. */
export async function showProjects({ api, clock }: PageCall): Promise<View> {
  const projects = await api.call(projectRoutes.listProjects, {});
  const now = clock.wallMs();
  const main = html`${heading('Settings')}${settingsTabs('/settings/projects')}
<p class="lead soft">Resources that are managed as code. The next deployment overwrites changes made here.</p>
${table<Project>({
  caption: 'Projects by name',
  rows: projects,
  empty: 'No projects yet. POST /v1/projects/deploy creates one.',
  columns: [
    { title: 'Project', cell: ({ name }) => visible(shortened(name, 80)) },
    { title: 'Logical id', cell: ({ logicalId }) => html`<code>${logicalId}</code>` },
    { title: 'Resources', cell: ({ resourceCount }) => counted(resourceCount, 'resource') },
    { title: 'Last deployment', cell: ({ lastDeployment }) => deployment(lastDeployment, now) },
  ],
})}`;
  return { main };
}

function deployment(last: Project['lastDeployment'], now: number): Content {
  if (!last) return 'none';
  const at = Date.parse(last.endedAt ?? last.createdAt);
  const word = last.endedAt === null ? `${last.progress} %` : last.status.toLowerCase();
  const why =
    last.error === null
      ? ''
      : html` <span class="small">${visible(shortened(last.error.message, 400))}</span>`;
  return html`${stateBadge(states[last.status] ?? 'waiting', word)} <span class="small soft">${ago(at, now)}</span>${why}`;
}
