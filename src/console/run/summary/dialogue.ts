import type { TcpDetail } from '../../../checks/tcp/detail.ts';
import { duration } from '../../elements/format.ts';
import { facts } from '../../elements/table.ts';
import { section } from '../../elements/text.ts';
import { type Content, html } from '../../html.ts';
import { conversationSection } from './conversation.ts';

const words = { SEND: 'Send', EXPECT: 'Expect a line', START_TLS: 'Go on in TLS' } as const;

/** The steps of a TCP monitor, and what was said. */
export function dialogueSections(
  lines: TcpDetail['response']['lines'],
  steps: TcpDetail['steps'],
): Content[] {
  if (!steps || !lines) return [];
  const messages = lines.map(({ direction, text, truncated, atMs, step }) => ({
    isSent: direction === 'SENT',
    ...{ atMs, text },
    note: `${step === null ? 'no step took it' : `step ${step}`}${truncated ? ', cut' : ''}`,
  }));
  return [
    section(
      'Steps',
      facts(
        steps.map(({ type, state, waitMs, skippedCount }, index) => {
          const time = type === 'SEND' ? '' : ` after ${duration(waitMs)}`;
          const others = skippedCount === 0 ? '' : `, lines passed over: ${skippedCount}`;
          const said =
            state === 'FAILED'
              ? html`<span class="error">failed</span>${time}${others}`
              : state === 'DONE'
                ? html`done${time}${others}`
                : 'not reached';
          return [`${index + 1}. ${words[type]}`, said];
        }),
      ),
    ),
    conversationSection(messages),
  ];
}
