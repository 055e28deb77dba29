import { storedFacts } from '@picket/service/alerts/raise.ts';
import type { AlertRow } from '@picket/service/alerts/tables.ts';
import type { Check } from '@picket/service/checks/store.ts';
import type { ChartMark } from '../elements/charts/time-chart.ts';
import { instant, shortened } from '../elements/format.ts';
import { table } from '../elements/table.ts';
import { section, visible } from '../elements/text.ts';
import { type Content, html, path } from '../html.ts';
import type { PageCall } from '../page.ts';
import type { Range } from './range.ts';

/** Limit of signs on the axis of a chart, beyond which it becomes unreadable. */
const mostEvents = 200;
const shownAlerts = 20;

export interface Events {
  readonly marks: readonly ChartMark[];
  readonly section: Content;
}

/** Returns alerts of a check, incidents that it opened, and manual incidents of its service, in a range. */
export async function eventsIn(
  { store, viewer }: PageCall,
  { id: checkId, definition }: Pick<Check, 'id' | 'definition'>,
  { from, to }: Range,
): Promise<Events> {
  const { accountId } = viewer;
  const service = serviceOf(definition);
  const [{ alerts }, own, ofService] = await Promise.all([
    store.alerts.list({ accountId, checkId, from, to }, { limit: mostEvents, offset: 0 }),
    store.incidents.ofCheck(accountId, checkId, { from, to }),
    service === undefined ? [] : store.incidents.ofServices([service], from),
  ]);
  const known = new Set(own.map(({ id }) => id));
  const others = ofService.filter(
    ({ id, account_id: of, started }) => of === accountId && started < to && !known.has(id),
  );
  const marks: ChartMark[] = [
    ...[...own, ...others].map(({ id, name, started, ended }) => ({
      kind: 'incident' as const,
      from: started,
      to: ended ?? to,
      title: `Incident: ${name}`,
      href: path`/pages/incidents/${id}`,
    })),
    ...alerts.map((alert) => ({
      kind: /RECOVERY|_BACK$|_WELL$/.test(alert.alert_type) ? ('recovery' as const) : ('alert' as const),
      from: alert.created,
      to: alert.created,
      title: alertWords(alert.alert_type),
      href: hrefOf(alert),
    })),
  ];
  return { marks, section: alertSection(alerts) };
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
        { title: 'When', cell: ({ created }) => instant(created) },
        {
          title: 'Alert',
          cell: (alert) => {
            const href = hrefOf(alert);
            const words = alertWords(alert.alert_type);
            return href === null ? words : html`<a href="${href}">${words}</a>`;
          },
        },
        { title: 'Why', cell: (alert) => visible(shortened(storedFacts(alert).error ?? '', 200)) },
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
