import type { PrivateLocation } from '@picket/protocol/locations/private-location.ts';
import { counted } from '../elements/format.ts';
import { stateBadge } from '../elements/state.ts';
import { type Html, html } from '../html.ts';

type Known = Pick<PrivateLocation, 'health'>;

/**
 * Shows whether an agent of a location is connected. Until then it asks again by itself, and leaves the rest of the
 * page alone: the key shown next to it must not vanish.
 *
 * @param here a page of this location that contains the dot.
 */
export function agentDot({ health }: Known, here: string): Html {
  if (health.presentAgents > 0) {
    return html`<p id="agent-dot" class="agent-dot" role="status">${stateBadge('passed', `${counted(health.presentAgents, 'agent')} connected`)}</p>`;
  }
  return html`<p id="agent-dot" class="agent-dot" role="status" hx-get="${here}" hx-trigger="every 2s" hx-target="#agent-dot" hx-select="#agent-dot" hx-swap="outerHTML">${stateBadge('waiting', 'Waiting for the agent')} <span class="small soft">turns green by itself. <a href="${here}">Reload</a></span></p>`;
}
