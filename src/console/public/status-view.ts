import { shareOfPercent } from '@picket/lib/figures/share.ts';
import type { StatusPageData } from '@picket/protocol/pages/public-page.ts';
import { coverageText, notMeasured } from '@picket/protocol/runs/coverage.ts';
import { blindWords, isBlind } from '@picket/service/pages/measured-now.ts';
import { counted, day, instant, percent } from '../elements/format.ts';
import { type State, stateBadge } from '../elements/state.ts';
import { visible } from '../elements/text.ts';
import { type Content, type Html, html } from '../html.ts';
import {
  componentCards,
  componentsHeadline,
  impactWord,
  incidentStanding,
  operational,
} from './components/component-view.ts';
import { dayBars, dayLegend } from './day-bars.ts';
import { type Notice, openNotice, pastNotice, since, statusWord } from './incidents.ts';

type Card = StatusPageData['cards'][number];
type Service = Card['services'][number];
type Availability = Pick<Service, 'uptime' | 'uptimeSince' | 'coverage'>;
type Incident = StatusPageData['incidents'][number];
type Maintenance = StatusPageData['maintenances'][number];

interface Standing {
  readonly state: State;
  readonly word: string;
}

const severityWords = {
  MINOR: 'Minor problem',
  MEDIUM: 'Medium problem',
  MAJOR: 'Major problem',
  CRITICAL: 'Critical problem',
} as const;
const severityStates = {
  MINOR: 'degraded',
  MEDIUM: 'degraded',
  MAJOR: 'failed',
  CRITICAL: 'failed',
} as const;

const isOpen = ({ lastUpdateStatus }: Incident) => lastUpdateStatus !== 'RESOLVED';
const isRunning = ({ status }: Maintenance) => status === 'IN_PROGRESS' || status === 'VERIFYING';

/** Shows a status page: a summary line, then its reasons, then each service. */
export function statusMain(data: StatusPageData, more: Content): Html {
  const open = data.incidents.filter(isOpen);
  const past = data.incidents.filter((incident) => !isOpen(incident));
  const running = data.maintenances.filter(isRunning);
  const planned = data.maintenances.filter(({ status }) => status === 'SCHEDULED');
  const over = data.maintenances.filter(({ status }) => status === 'COMPLETED' || status === 'CANCELLED');
  const shown = [...data.cards.flatMap(({ services }) => services), ...data.components];
  const { state, word } =
    data.page.version === 3 ? componentsHeadline(data.components) : headline(data, open, running);
  return html`<h1 class="hidden">${visible(data.page.name)}</h1>
<p class="overall overall-${state}">${stateBadge(state, word)}</p>
${data.page.description ? html`<p class="prose soft">${visible(data.page.description)}</p>` : ''}
${part('Open incidents', open.map(incidentNotice).map(openNotice))}
${part('Ongoing maintenance', running.map(maintenanceNotice).map(openNotice))}
${data.cards.map((card) => cardSection(card, open))}
${componentCards(data.components, availability)}
${dayLegend(shown)}
${part('Planned maintenance', planned.map(maintenanceNotice).map(openNotice))}
<section><h2>History</h2>${
    past.length + over.length === 0
      ? html`<p class="soft">No incidents in the last 90 days.</p>`
      : [...past.map(incidentNotice), ...over.map(maintenanceNotice)].map(pastNotice)
  }</section>${more}`;
}

function part(title: string, list: readonly Html[]): Content {
  return list.length === 0 ? '' : html`<section><h2>${title}</h2>${list}</section>`;
}

/** Summarizes the page. Unmeasured services are not called operational. */
function headline(
  { state, cards }: StatusPageData,
  open: readonly Incident[],
  running: readonly Maintenance[],
): Standing {
  const services = new Map(cards.flatMap((card) => card.services.map((service) => [service.id, service])));
  if (state !== 'OPERATIONAL') {
    const hit = [...services.values()].filter((service) => service.state !== 'OPERATIONAL').length;
    const of = services.size === 1 ? '' : `, ${hit} of ${counted(services.size, 'service')} affected`;
    if (open.length > 0) return { state: severityStates[state], word: `${severityWords[state]}${of}` };
    if (running.length > 0) return { state: 'degraded', word: `Maintenance in progress${of}` };
    return { state: severityStates[state], word: `${severityWords[state]}${of}` };
  }
  if (services.size === 0) return { state: 'missed', word: 'This page has no services yet' };
  const all = [...services.values()];
  if (!all.some(isBlind)) return { state: 'passed', word: 'All services operational' };
  const which = blindWords(all, (count) => counted(count, 'service'));
  return { state: 'missed', word: `No known incidents; ${which}` };
}

function standingOf(service: Service, open: readonly Incident[]): Standing {
  const { state, id } = service;
  if (state === 'OPERATIONAL') {
    return operational(service);
  }
  const hasIncident = open.some(({ services }) => services.some((one) => one.id === id));
  if (!hasIncident) return { state: 'degraded', word: 'In maintenance' };
  return { state: severityStates[state], word: severityWords[state] };
}

function cardSection(card: Card, open: readonly Incident[]): Html {
  return html`<section class="card"><div class="card-line"><h2>${visible(card.name)}</h2>${
    card.uptime === null ? '' : html`<span class="small soft">${availability(card)}</span>`
  }</div>
${
  card.services.length === 0
    ? html`<p class="soft small">No services.</p>`
    : html`<ul>${card.services.map((service) => serviceRow(service, open))}</ul>`
}</section>`;
}

function serviceRow(service: Service, open: readonly Incident[]): Html {
  const { name, days } = service;
  const { state, word } = standingOf(service, open);
  return html`<li class="service"><div class="card-line"><h3>${visible(name)}</h3>${stateBadge(state, word)}</div>
${dayBars(`${visible(name)}, ${days.length} days`, service)}
<p class="axis small soft"><span>${days.length} days ago</span><span>${availability(service)}</span><span>Today</span></p></li>`;
}

/** Shows uptime, always along with its start and the measured share. */
function availability({ uptime, uptimeSince, coverage }: Availability): Content {
  if (uptime === null) return 'not measured yet';
  const up = percent(shareOfPercent(uptime));
  const since = uptimeSince === null ? '' : html` since ${day(uptimeSince)}`;
  if (coverage === null) return html`${up} without an announced incident${since}`;
  const covered = coverageText(coverage);
  if (covered === notMeasured && uptime === 100) return notMeasured;
  return html`${up} without an incident${since}, ${covered ?? 'all measured'}`;
}

export function startOf({ incidentUpdates }: Incident): string {
  return incidentUpdates.at(-1)?.publicIncidentUpdateDate ?? '';
}

function incidentNotice(incident: Incident): Notice {
  const { id, name, severity, duration, services, components, lastUpdateStatus } = incident;
  const { state, word } = incidentStanding(incident) ?? {
    state: severityStates[severity],
    word: severityWords[severity],
  };
  return {
    id: `incident-${id}`,
    name,
    state: duration === null ? state : 'passed',
    word: duration === null ? `${word} · ${statusWord(lastUpdateStatus)}` : word,
    when: since(startOf(incident), duration),
    services: [
      ...services.map((service) => service.name),
      ...components.map((one) => `${one.name} (${impactWord(one.impact).toLowerCase()})`),
    ],
    updates: incident.incidentUpdates.map((update) => ({
      status: update.status,
      description: update.description,
      at: update.publicIncidentUpdateDate,
    })),
  };
}

function maintenanceNotice(one: Maintenance): Notice {
  return {
    id: `maintenance-${one.maintenanceWindowId}-${one.id}`,
    name: one.name,
    state: isRunning(one) ? 'degraded' : 'off',
    word: `Maintenance · ${statusWord(one.status)}`,
    when: html`${instant(one.startsAt)} to ${instant(one.endsAt)}`,
    services: [...one.services, ...one.components].map(({ name }) => name),
    description: one.description,
    updates: one.updates.map(({ status, description, created_at: at }) => ({ status, description, at })),
  };
}
