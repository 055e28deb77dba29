import type { AlertEntry } from '@picket/protocol/alerts/alert-entry.ts';
import { duration, instant, shortened } from '../elements/format.ts';
import { type State, states } from '../elements/state.ts';
import { type Content, type Html, html } from '../html.ts';

const severities: Readonly<Record<AlertEntry['severity'], readonly [State, string]>> = {
  FAILING: ['failed', 'Failing'],
  DEGRADED: ['degraded', 'Degraded'],
  FLAPPING: ['degraded', 'Flapping'],
  NOT_MEASURED: ['missed', 'Not measured'],
  NO_AGENT: ['error', 'No agent'],
  UNHEALTHY: ['error', 'Unhealthy'],
  OUTDATED: ['degraded', 'Outdated'],
};

/** The severity of an alert in a word. */
export function severityWord({ severity }: Pick<AlertEntry, 'severity'>): string {
  return severities[severity][1];
}

/** The state of checks that a severity is shown as. */
export function severityState({ severity }: Pick<AlertEntry, 'severity'>): State {
  return severities[severity][0];
}

/** The sign of a severity; its word is the tooltip, and read by screen readers. */
export function severitySign(entry: Pick<AlertEntry, 'severity' | 'state'>): Html {
  const state = severityState(entry);
  const word = entry.state === 'ENDED' ? `Ended: ${severityWord(entry)}` : severityWord(entry);
  return html`<span class="state state-${state}" title="${word}"><span class="sign" aria-hidden="true">${states[state].sign}</span><span class="hidden">${word}</span></span>`;
}

/** Who acknowledged an alert, until when it is silenced, or what else holds its notifications back. */
export function handledWords(entry: AlertEntry): Content {
  const { acknowledgement, silencedUntil, suppressedBy, endedAt, since } = entry;
  if (endedAt !== null) return `lasted ${duration(Date.parse(endedAt) - Date.parse(since))}`;
  const parts: Content[] = [
    acknowledgement
      ? html`<span${acknowledgement.comment === null ? '' : html` title="${shortened(acknowledgement.comment, 300)}"`}>acknowledged by ${shortened(acknowledgement.by.name, 60)}</span>`
      : '',
    silencedUntil === null ? '' : html`silenced until ${instant(silencedUntil)}`,
    suppressedBy === 'maintenance' ? 'in maintenance' : suppressedBy === 'muted' ? 'muted' : '',
  ].filter((part) => part !== '');
  if (parts.length === 0) return 'open';
  return parts.map((part, index) => (index === 0 ? part : html`, ${part}`));
}
