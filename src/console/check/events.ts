import { type AuditEntry, auditLogRoutes } from '@picket/protocol/accounts/audit-log.ts';
import { projectRoutes } from '@picket/protocol/projects/project.ts';
import { storedFacts } from '@picket/service/alerts/raise.ts';
import type { AlertRow } from '@picket/service/alerts/tables.ts';
import { tagsOf, withGroups } from '@picket/service/checks/effective-check.ts';
import type { Check } from '@picket/service/checks/store.ts';
import { withCalendars } from '@picket/service/maintenance/maintenance.ts';
import type { ChartMark } from '../elements/charts/marks-lane.ts';
import { instant, shortened } from '../elements/format.ts';
import { table } from '../elements/table.ts';
import { oneLine, section, visible } from '../elements/text.ts';
import { type Content, html, path, withQuery } from '../html.ts';
import type { PageCall } from '../page.ts';
import type { Range } from './range.ts';

/** Limit of signs of one sort on the axis of a chart, beyond which it becomes unreadable. */
const mostEvents = 200;
const mostChanges = 100;
const mostDeployments = 50;
const shownAlerts = 20;

/** Events around a check in a range, by the lane that shows them. */
export interface Events {
  readonly lanes: readonly { readonly name: string; readonly marks: readonly ChartMark[] }[];
  readonly section: Content;
}

/** The project that manages a check. */
interface ManagingProject {
  readonly logicalId: string;
  readonly name: string;
}

/** @param project the one that manages the check. */
export async function eventsIn(
  call: PageCall,
  check: Check,
  { range, project }: { readonly range: Range; readonly project: ManagingProject | undefined },
): Promise<Events> {
  const { store, viewer } = call;
  const { accountId } = viewer;
  const [{ alerts }, incidents, changes, deployments, maintenance] = await Promise.all([
    store.alerts.list(
      { accountId, checkId: check.id, from: range.from, to: range.to },
      { limit: mostEvents, offset: 0 },
    ),
    incidentMarks(call, check, range),
    changeMarks(call, check.id, range),
    project === undefined ? [] : deploymentMarks(call, project, range),
    maintenanceMarks(call, check, range),
  ]);
  const lanes = [
    { name: 'Alerts', marks: alerts.map(alertMark) },
    { name: 'Incidents', marks: incidents },
    { name: 'Changes', marks: [...changes, ...deployments] },
    { name: 'Maintenance', marks: maintenance },
  ];
  return { lanes: lanes.filter(({ marks }) => marks.length > 0), section: alertSection(alerts) };
}

function alertMark(alert: AlertRow): ChartMark {
  return {
    kind: /RECOVERY|_BACK$|_WELL$/.test(alert.alert_type) ? 'recovery' : 'alert',
    from: alert.created,
    to: alert.created,
    title: alertWords(alert.alert_type),
    href: hrefOf(alert),
  };
}

/** Incidents that the check opened, and manual ones of its service. */
async function incidentMarks(
  { store, viewer }: PageCall,
  { id: checkId, definition }: Check,
  { from, to }: Range,
): Promise<ChartMark[]> {
  const { accountId } = viewer;
  const service = serviceOf(definition);
  const [own, ofService] = await Promise.all([
    store.incidents.ofCheck(accountId, checkId, { from, to }),
    service === undefined ? [] : store.incidents.ofServices([service], from),
  ]);
  const known = new Set(own.map(({ id }) => id));
  const others = ofService.filter(
    ({ id, account_id: of, started }) => of === accountId && started < to && !known.has(id),
  );
  return [...own, ...others].map(({ id, name, started, ended }) => ({
    kind: 'incident' as const,
    from: started,
    to: ended ?? to,
    title: `Incident: ${visible(shortened(name, 120))}`,
    href: path`/pages/incidents/${id}`,
  }));
}

/** Changes of the check, also those of deployments of its project, as far as the viewer may see them. */
async function changeMarks({ api }: PageCall, checkId: string, { from, to }: Range): Promise<ChartMark[]> {
  const resource = `checks/${checkId}`;
  const { entries } = await api.call(auditLogRoutes.listAuditLog, {
    query: { resource, from: String(from), to: String(to), limit: mostChanges },
  });
  return entries
    .filter(({ outcome }) => outcome === 'DONE')
    .map((entry) => {
      const at = Date.parse(entry.created_at);
      const href = withQuery('/account/audit', { resource });
      return { kind: 'change' as const, from: at, to: at, title: changeWords(entry), href };
    });
}

/** Deployments of the project that manages the check, whether or not they changed it. */
async function deploymentMarks(
  { api }: PageCall,
  { logicalId, name }: ManagingProject,
  { from, to }: Range,
): Promise<ChartMark[]> {
  const deployments = await api.call(projectRoutes.listDeployments, {
    params: { logicalId },
    query: { from: String(from), to: String(to), limit: mostDeployments },
  });
  const href = withQuery('/settings/projects', { project: logicalId });
  return deployments.map(({ createdAt, startedAt, status }) => {
    const at = Date.parse(startedAt ?? createdAt);
    const title = `Deployment of ${visible(shortened(name, 80))}: ${status.toLowerCase()}`;
    return { kind: 'deployment' as const, from: at, to: at, title, href };
  });
}

const namedFields = 4;

function changeWords({ actor, before, after, secrets }: AuditEntry): string {
  const by = `by ${visible(shortened(actor.name, 60))}`;
  if (before === null && after !== null) return `Created ${by}`;
  const fields = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {}), ...secrets])];
  const more = fields.length > namedFields ? ', …' : '';
  return `Changed ${by}${fields.length === 0 ? '' : `: ${fields.slice(0, namedFields).join(', ')}${more}`}`;
}

/** Occurrences of the maintenance windows that pause or silence the check. */
async function maintenanceMarks(
  { store, viewer }: PageCall,
  check: Check,
  { from, to }: Range,
): Promise<ChartMark[]> {
  const windows = await store.windows.ofAccountsWithin([viewer.accountId], { from, to });
  if (windows.length === 0) return [];
  const [effective = check] = await withGroups(store, [check]);
  const tags = new Set(tagsOf(effective));
  const concerned = (named: readonly string[]) => named.some((tag) => tags.has(tag));
  const loaded = await withCalendars(store, windows);
  return loaded.flatMap(({ id, calendar, definition }) => {
    const { name, pauseAllChecks, silenceAllAlerts, silenceAlertsTags, tags: paused } = definition;
    const isPaused = pauseAllChecks || concerned(paused);
    if (!isPaused && !silenceAllAlerts && !concerned(silenceAlertsTags)) return [];
    const effect = isPaused ? 'runs are paused' : 'alerts are silenced';
    return calendar
      .from(from, { limit: mostEvents, offset: 0 })
      .filter(({ effect: within }) => within.from < to && within.to > within.from)
      .map(({ effect: within }) => ({
        kind: 'maintenance' as const,
        from: within.from,
        to: within.to,
        title: `Maintenance: ${visible(shortened(name, 120))} (${effect})`,
        href: path`/pages/maintenance/${id}`,
      }));
  });
}

/** Returns the service whose incidents the failures of a check open. */
function serviceOf({ triggerIncident }: Check['definition']): string | undefined {
  if (typeof triggerIncident !== 'object' || triggerIncident === null) return undefined;
  return 'serviceId' in triggerIncident ? String(triggerIncident.serviceId).toLowerCase() : undefined;
}

function hrefOf({ check_id: checkId, result_id: resultId }: AlertRow): string | null {
  return resultId === null ? null : path`/checks/${checkId}/runs/${resultId}`;
}

function alertSection(alerts: readonly AlertRow[]): Content {
  if (alerts.length === 0) return '';
  return section(
    'Alerts in this range',
    table<AlertRow>({
      caption: 'Alerts of this check, newest first',
      rows: alerts.slice(0, shownAlerts),
      empty: '',
      columns: [
        {
          title: 'Alert',
          cell: (alert) => {
            const href = hrefOf(alert);
            const words = alertWords(alert.alert_type);
            return href === null ? words : html`<a href="${href}">${words}</a>`;
          },
        },
        { title: 'When', cell: ({ created }) => instant(created) },
        {
          title: 'Why',
          isWide: true,
          cell: (alert) => oneLine(shortened(storedFacts(alert).error ?? '', 600)),
        },
      ],
    }),
    'alerts',
  );
}

/** Formats `ALERT_DEGRADED_RECOVERY` for people. */
function alertWords(type: string): string {
  const words = type
    .replace(/^ALERT_/, '')
    .toLowerCase()
    .replaceAll('_', ' ');
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}
