import { randomUUID } from 'node:crypto';
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
  return {
    id: randomUUID(),
    address: of.address,
    subject: `You are invited to ${account} on Picket`,
    text: `${oneLine(of.by)} invites you to the account "${account}" on Picket.

Accept the invitation here within ${inviteDays} days:
${of.link}

If you did not expect this, ignore this mail.
`,
  };
}

export function resetMail(address: string, link: string): Mail {
  return {
    id: randomUUID(),
    address,
    subject: 'A new password for Picket',
    text: `A password reset for this address was requested on

Picket. Choose a new password here within an hour:
${link}

If it was not you, ignore this mail: the password does not change.
`,
  };
}

/** Names are user input; a line break in a subject would start another header. */
function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').slice(0, 200).toWellFormed();
}
