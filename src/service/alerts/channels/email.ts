import { createTransport } from 'nodemailer';
import { toError } from '../../../lib/errors.ts';
import type { ChannelConfig } from '../../../protocol/alert-channel.ts';
import { type AlertMessage, titleOf } from '../alert-template.ts';
import type { Delivery } from '../outbound-http.ts';
import { factLines } from './fact-lines.ts';

export interface MailSettings {
  /** `smtp://user:password@host:port` or `smtps://…`. */
  readonly smtpUrl: string;
  readonly from: string;
}

const timeouts = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 20_000 };

/** Sends alerts by e-mail over SMTP. The Message-ID is the same at every try, so that mail boxes can drop a repetition. */
export class AlertMail {
  readonly #settings: MailSettings;
  readonly #transport: ReturnType<typeof createTransport>;

  constructor(settings: MailSettings) {
    this.#settings = settings;
    this.#transport = createTransport({ url: settings.smtpUrl, ...timeouts });
  }

  async send({ address }: ChannelConfig<'EMAIL'>, message: AlertMessage): Promise<Delivery> {
    const lines = factLines(message);
    const title = titleOf(message);
    const link = message.resultLink;
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
    try {
      const sent = await this.#transport.sendMail({
        from: this.#settings.from,
        // An object, not a text: an address must never be read as a list of them.
        to: { name: '', address },
        subject: title,
        text: text.join('\n'),
        html: `<h2>${html(title)}</h2><table cellpadding="4">${rows.join('')}</table>${anchor}`,
        messageId: `<${message.id}@picket>`,
        headers: { 'X-Service-Notification-Id': message.id, 'Auto-Submitted': 'auto-generated' },
        disableFileAccess: true,
        disableUrlAccess: true,
      });
      return { isDelivered: true, result: `accepted: ${String(sent.response).slice(0, 200)}` };
    } catch (thrown) {
      const error = toError(thrown);
      const code = 'responseCode' in error && typeof error.responseCode === 'number' ? error.responseCode : 0;
      // 5yz is final (RFC 5321, 4.2.1); everything else may pass.
      return { isDelivered: false, result: error.message.slice(0, 500), isRetryable: code < 500 };
    }
  }

  close(): void {
    this.#transport.close();
  }
}

function html(text: string): string {
  const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  return text.replaceAll(/[&<>"]/g, (character) => entities[character] ?? character);
}
