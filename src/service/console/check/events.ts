import { storedFacts } from '../../alerts/raise.ts';
import type { AlertRow } from '../../alerts/tables.ts';
import { instant, shortened } from '../elements/format.ts';
import { table } from '../elements/table.ts';
import { section, visible } from '../elements/text.ts';
import type { ChartMark } from '../elements/time-chart.ts';
import { type Content, html, path } from '../html.ts';
import type { PageCall } from '../page.ts';
import type { Range } from './range.ts';

/** More signs on the axis of a chart say nothing any more. */
const mostEvents = 200;
const shownAlerts = 20;

export interface Events {
  readonly marks: readonly ChartMark[];
  readonly section: Content;
}

/** Alerts of a check and incidents that it opened, in a range. */
export async function eventsIn(
  { store, viewer }: PageCall,
  checkId: string,
  { from, to }: Range,
): Promise<Events> {
  const { accountId } = viewer;
  const [{ alerts }, incidents] = await Promise.all([
    store.alerts.list({ accountId, checkId, from, to }, { limit: mostEvents, offset: 0 }),
    store.incidents.ofCheck(accountId, checkId, { from, to }),
  ]);
  const marks: ChartMark[] = [
    ...incidents.map(({ name, started, ended }) => ({
      kind: 'incident' as const,
      from: started,
      to: ended ?? to,
      title: `Incident: ${name}`,
      href: null,
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

/** `ALERT_DEGRADED_RECOVERY` as people say it. */
function alertWords(type: string): string {
  const words = type
    .replace(/^ALERT_/, '')
    .toLowerCase()
    .replaceAll('_', ' ');
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}
