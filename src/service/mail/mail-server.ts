import { toError } from '@picket/lib/errors.ts';
import type { ServiceConfig } from '@picket/platform/config/config.ts';
import type { Transporter } from 'nodemailer';

/** Settings for mail. */
export type MailConfig = Pick<ServiceConfig, 'SMTP_URL' | 'MAIL_FROM'>;

export interface MailSettings {
  /** `smtp://user:password@host:port` or `smtps://…`. */
  readonly smtpUrl: string;
  readonly from: string;
}

/** A mail to one address. */
export interface Mail {
  /**
   * Same for every attempt, and unique across all mails and installations: it becomes the Message-ID, by which
   * mailboxes drop duplicates.
   */
  readonly id: string;
  readonly address: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** The same for all mails that belong together; mail programs show them as one conversation. */
  readonly thread?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Outcome of handing over a mail; `isRetryable` if another attempt may succeed. */
export type MailDelivery =
  | { readonly isDelivered: true; readonly result: string }
  | { readonly isDelivered: false; readonly result: string; readonly isRetryable: boolean };

const timeouts = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 20_000 };
const maxResultLength = 500;

/** The SMTP server that the service sends its mails through. */
export class MailServer {
  readonly #from: string;
  /** Domain of the sender, within which ids are unique (RFC 5322, 3.6.4). */
  readonly #domain: string;
  readonly #smtpUrl: string;
  /** Made for the first mail. */
  #transport: Promise<Transporter> | undefined;

  constructor({ smtpUrl, from }: MailSettings) {
    this.#from = from;
    this.#domain = /@([^\s@<>]+)>?\s*$/.exec(from)?.[1] ?? 'picket.invalid';
    this.#smtpUrl = smtpUrl;
  }

  /** Hands over a mail. Never rejects: errors become the result of the delivery. */
  async send({ id, address, subject, text, html, thread, headers }: Mail): Promise<MailDelivery> {
    try {
      const sent = await (await this.#connect()).sendMail({
        from: this.#from,
        // An object rather than a string, so that an address is never parsed as a list of addresses.
        to: { name: '', address },
        subject,
        text,
        html,
        messageId: `<${id}@${this.#domain}>`,
        // No mail has this id itself: mails of a conversation need not know each other.
        ...(thread === undefined
          ? {}
          : { inReplyTo: `<${thread}@${this.#domain}>`, references: `<${thread}@${this.#domain}>` }),
        headers: { 'Auto-Submitted': 'auto-generated', ...headers },
        disableFileAccess: true,
        disableUrlAccess: true,
      });
      return { isDelivered: true, result: `accepted: ${String(sent.response)}`.slice(0, maxResultLength) };
    } catch (thrown) {
      const error = toError(thrown);
      const code = 'responseCode' in error && typeof error.responseCode === 'number' ? error.responseCode : 0;
      // 5yz is permanent (RFC 5321, 4.2.1); all other failures may be temporary.
      return {
        isDelivered: false,
        result: error.message.slice(0, maxResultLength),
        isRetryable: code < 500,
      };
    }
  }

  async #connect(): Promise<Transporter> {
    this.#transport ??= import('nodemailer').then(({ createTransport }) =>
      createTransport({ url: this.#smtpUrl, ...timeouts }),
    );
    return await this.#transport;
  }

  async close(): Promise<void> {
    (await this.#transport)?.close();
  }
}

/** The mail server of a configuration, if it names one. */
export function configuredMailServer({
  SMTP_URL: smtpUrl,
  MAIL_FROM: from,
}: MailConfig): MailServer | undefined {
  return smtpUrl === undefined || from === undefined ? undefined : new MailServer({ smtpUrl, from });
}
