import { randomUUID } from 'node:crypto';
import { type MailDocument, mailHtml, mailText } from '@picket/lib/mail/mail-document.ts';
import type { Mail, MailServer } from '../mail/mail-server.ts';
import { inviteDays } from './members.ts';

/** Settings for mails with links. */
export interface Mailing {
  /** Absent if no mail server is configured. */
  readonly mail?: Pick<MailServer, 'send'> | undefined;
  /** Without it, links in a mail could not be opened. */
  readonly publicUrl?: string | undefined;
}

/** Whether links can be mailed. */
export function canMail({ mail, publicUrl }: Mailing): boolean {
  return mail !== undefined && publicUrl !== undefined;
}

/** A link to a page of this service; only a path if the public URL is unknown. */
export function linkTo(path: string, publicUrl: string | undefined): string {
  return `${publicUrl?.replace(/\/+$/, '') ?? ''}${path}`;
}

export function invitationMail(of: { address: string; account: string; by: string; link: string }): Mail {
  const account = oneLine(of.account);
  return linkMail(of.address, {
    headline: `You are invited to ${account} on Picket`,
    paragraphs: [
      `${oneLine(of.by)} invites you to the account "${account}" on Picket.`,
      `The invitation is valid for ${inviteDays} days.`,
    ],
    buttons: [{ label: 'Accept the invitation', url: of.link }],
    footer: ['If you did not expect this, ignore this mail.'],
  });
}

export function resetMail(address: string, link: string): Mail {
  return linkMail(address, {
    headline: 'A new password for Picket',
    paragraphs: ['A password reset was requested for this address. The link is valid for an hour.'],
    buttons: [{ label: 'Choose a new password', url: link }],
    footer: ['If it was not you, ignore this mail: the password does not change.'],
  });
}

function linkMail(address: string, content: Omit<MailDocument, 'tone'>): Mail {
  const document: MailDocument = { tone: 'neutral', ...content };
  const [text, html] = [mailText(document), mailHtml(document)];
  return { id: randomUUID(), address, subject: content.headline, text, html };
}

/** Names are user input; a line break in a subject would start another header. */
function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').slice(0, 200).toWellFormed();
}
