import type { SummaryMessage } from '../../../checks/summary/detail-summary.ts';
import { duration } from '../../elements/format.ts';
import { block, section, visible } from '../../elements/text.ts';
import { type Html, html } from '../../html.ts';

/** What both sides said, one below the other: our side on the right, the target's on the left. */
export function conversationSection(messages: readonly SummaryMessage[] | undefined): Html | '' {
  if (!messages || messages.length === 0) return '';
  return section(
    'Conversation',
    html`<ol class="conversation">${messages.map((message, index) => one(message, index + 1))}</ol>`,
    'conversation',
  );
}

function one({ isSent, atMs, text, note, problem }: SummaryMessage, number: number): Html {
  const side = isSent ? 'sent' : 'received';
  const words = isSent ? 'Sent' : 'Received';
  return html`<li class="said said-${side}${problem ? ' said-wrong' : ''}"><p class="said-by"><b>${words}</b> <span class="soft">after ${duration(atMs)}, ${note}</span>${
    problem ? html` <span class="error">${visible(problem)}</span>` : ''
  }</p>${text === '' ? html`<p class="soft">(empty)</p>` : block(`${words}, message ${number}`, text)}</li>`;
}
