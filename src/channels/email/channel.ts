import { html } from '@picket/lib/html.ts';
import { z } from 'zod';
import { defineChannel } from '../contract/channel.ts';

/** A mail, as text and as HTML. */
export const email = defineChannel({
  type: 'EMAIL',
  title: 'E-mail',
  config: z.object({ address: z.email().max(320) }),
  sender: {
    kind: 'mail',
    mail({ address }, { id, title, facts, link }) {
      const text = [
        title,
        '',
        ...facts.map(({ label, value }) => `${label}: ${value}`),
        ...(link === null ? [] : ['', link]),
        '',
      ];
      const rows = facts.map(
        ({ label, value }) => `<tr><th align="left">${html(label)}</th><td>${html(value)}</td></tr>`,
      );
      const anchor = link === null ? '' : `<p><a href="${html(link)}">${html(link)}</a></p>`;
      return {
        id,
        address,
        subject: title,
        text: text.join('\n'),
        html: `<h2>${html(title)}</h2><table cellpadding="4">${rows.join('')}</table>${anchor}`,
        headers: { 'X-Service-Notification-Id': id },
      };
    },
  },
  whyUndelivered: ({ SMTP_URL, MAIL_FROM }) =>
    SMTP_URL === undefined || MAIL_FROM === undefined
      ? 'The service has no mail server: set SMTP_URL and MAIL_FROM, or use another type of channel.'
      : undefined,
  sample: { address: 'ops@example.com' },
});
