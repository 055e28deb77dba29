import { type MailDocument, mailHtml, mailText } from '@picket/lib/mail/mail-document.ts';
import { z } from 'zod';
import { defineChannel } from '../contract/channel.ts';
import type { ChannelMessage } from '../contract/message.ts';

/** A mail, as text and as HTML. */
export const email = defineChannel({
  type: 'EMAIL',
  title: 'E-mail',
  icon: 'mail',
  config: z.object({ address: z.email().max(320) }),
  sender: {
    kind: 'mail',
    mail({ address }, message) {
      const { id, subjectLine, thread } = message;
      const document = documentOf(message, address);
      return {
        id,
        address,
        subject: subjectLine,
        thread,
        text: mailText(document),
        html: mailHtml(document),
        headers: { 'X-Service-Notification-Id': id },
      };
    },
  },
  whyUndelivered: ({ SMTP_URL, MAIL_FROM }) =>
    SMTP_URL === undefined || MAIL_FROM === undefined
      ? 'The service has no mail server: set SMTP_URL and MAIL_FROM, or use another type of channel.'
      : undefined,
  configFor: (address) => (!address.includes('://') && address.includes('@') ? { address } : undefined),
  sample: { address: 'ops@example.com' },
});

/** The link of the run is a button. */
const runLabel = 'Run';

function documentOf(message: ChannelMessage, address: string): MailDocument {
  const { title, state, cause, facts, actions } = message;
  return {
    tone: state.tone,
    state: state.word,
    headline: title,
    lead: cause,
    // The first paragraph has the cause already, and mostly the error, too.
    facts: facts.filter(
      ({ label, value }) =>
        label !== runLabel && value !== cause && !(label === 'Error' && cause.includes(value)),
    ),
    buttons: actions,
    footer: [`Sent to ${address} by an alert channel of Picket.`],
  };
}
