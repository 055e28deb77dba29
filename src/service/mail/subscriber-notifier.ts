import { createHash } from 'node:crypto';
import type { Clock } from '@picket/lib/clock.ts';
import type { Logger } from '@picket/lib/log.ts';
import { type MailDocument, mailHtml, mailText } from '@picket/lib/mail/mail-document.ts';
import type { Store } from '@picket/platform/store/store.ts';
import type { Mail, MailDelivery } from './mail-server.ts';
import type { SubscriberMailItem } from './store.ts';
import { unsubscribePage } from './subscriber-mails.ts';

export interface SubscriberNotifierOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly mail: { send(mail: Mail): Promise<MailDelivery> };
  /** Whether browser pages exist, which links in mails lead to. */
  readonly hasPages?: boolean;
}

const mailsPerTurn = 10;
/** Longer than any attempt: after that the process that took the mail is gone, and another may take it. */
const takenForMs = 120_000;
const maxTries = 6;
const firstRetryMs = 20_000;

/** Positions begin at 1 in every installation; the token in the link is unique to this one. */
function idOf({ position, created, unsubscribe_url: link }: SubscriberMailItem): string {
  const digest = createHash('sha256').update(`${position} ${created} ${link}`).digest('hex');
  return `subscriber-${digest.slice(0, 32)}`;
}

/** The subject names the page and the event; each paragraph of the stored text is one of the mail. */
function documentOf({ subject, text }: SubscriberMailItem, unsubscribe: string): MailDocument {
  return {
    tone: 'neutral',
    brand: null,
    headline: subject,
    paragraphs: text.split(/\n{2,}/).filter((part) => part.trim() !== ''),
    footerLinks: [{ label: 'Unsubscribe', url: unsubscribe }],
  };
}

/**
 * Sends the mails that incidents queued for subscribers. Any process takes some, for a limited time; mails that are
 * sent or given up are deleted, the others are retried, up to six times with increasing delays. Accounts take turns, so
 * that an account with thousands of subscribers does not delay the mails of others. If a process is killed during this,
 * its mails are taken again, so a mail may arrive twice, with the same id, but is never lost.
 */
export class SubscriberNotifier {
  readonly #options: SubscriberNotifierOptions;
  /** Accounts of the last turns, most recently served last; only those that still have mails. */
  #served: readonly string[] = [];

  constructor(options: SubscriberNotifierOptions) {
    this.#options = options;
  }

  async turn(): Promise<number | null> {
    const { store, clock } = this.#options;
    const now = clock.wallMs();
    // Reads first, so that an idle service opens no write transactions.
    const dueAt = await store.subscriberMails.nextDueAt();
    if (dueAt === null || dueAt > now) return dueAt;
    const accounts = this.#nextAccounts(await store.subscriberMails.dueAccounts(now));
    const each = Math.floor(mailsPerTurn / Math.max(1, accounts.length));
    const taken = await store.transaction(async ({ subscriberMails }) => {
      const mails: SubscriberMailItem[] = [];
      for (const accountId of accounts) {
        mails.push(...(await subscriberMails.claim(accountId, now, each, now + takenForMs)));
      }
      return mails;
    });
    await Promise.all(taken.map((mail) => this.#send(mail)));
    return store.subscriberMails.nextDueAt();
  }

  /** Accounts served longest ago, at most as many as there are mails in a turn. */
  #nextAccounts(due: readonly string[]): readonly string[] {
    const before = this.#served.filter((accountId) => due.includes(accountId));
    const next = [...due.filter((accountId) => !before.includes(accountId)), ...before].slice(
      0,
      mailsPerTurn,
    );
    this.#served = [...before.filter((accountId) => !next.includes(accountId)), ...next];
    return next;
  }

  async #send(item: SubscriberMailItem): Promise<void> {
    const { store, clock, logger, mail, hasPages = false } = this.#options;
    const unsubscribeUrl = item.unsubscribe_url;
    const followed = hasPages ? unsubscribePage(unsubscribeUrl) : unsubscribeUrl;
    const document = documentOf(item, followed);
    const delivery = await mail.send({
      id: idOf(item),
      address: item.address,
      subject: item.subject,
      text: mailText(document),
      html: mailHtml(document),
      // Lets mail programs end the subscription with one click (RFC 8058).
      headers: {
        'List-Unsubscribe': `<${unsubscribeUrl}>`,
        'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      },
    });
    if (!delivery.isDelivered && delivery.isRetryable && item.tries < maxTries) {
      const nextAt = clock.wallMs() + firstRetryMs * 2 ** (item.tries - 1);
      await store.subscriberMails.postpone(item.position, nextAt);
      return;
    }
    await store.subscriberMails.remove(item.position);
    if (delivery.isDelivered) return;
    logger.warn(
      { mailId: item.position, tries: item.tries, reason: delivery.result },
      'failed to mail a subscriber; giving up',
    );
  }
}
