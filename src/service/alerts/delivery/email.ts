import type { ChannelConfig } from '../../../protocol/alerts/alert-channel.ts';
import type { MailServer } from '../../mail/mail-server.ts';
import { html } from './alert-page.ts';
import type { Delivery } from './outbound-http.ts';
import { type AlertMessage, factLines, titleOf } from './template.ts';

/** Sends an alert by e-mail, as text and as HTML. */
export function sendAlertMail(
  server: MailServer,
  { address }: ChannelConfig<'EMAIL'>,
  message: AlertMessage,
): Promise<Delivery> {
  const lines = factLines(message);
  const title = titleOf(message);
  const link = message.pageLink;
  const text = [
    title,
    '',
    ...lines.map(({ label, value }) => `${label}: ${value}`),
    ...(link === null ? [] : ['', link]),
    '',
  ];
  const rows = lines.map(
    ({ label, value }) => `<tr><th align="left">${html(label)}</th><td>${html(value)}</td></tr>`,
  );
  const anchor = link === null ? '' : `<p><a href="${html(link)}">${html(link)}</a></p>`;
  return server.send({
    id: message.id,
    address,
    subject: title,
    text: text.join('\n'),
    html: `<h2>${html(title)}</h2><table cellpadding="4">${rows.join('')}</table>${anchor}`,
    headers: { 'X-Service-Notification-Id': message.id },
  });
}
