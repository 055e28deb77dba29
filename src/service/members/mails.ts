import { randomUUID } from 'node:crypto';
import type { Mail, MailServer } from '../mail/mail-server.ts';
import { inviteDays } from './members.ts';

/** How mails with links go out. */
export interface Mailing {
  /** Absent where no mail server is configured. */
  readonly mail?: Pick<MailServer, 'send'> | undefined;
  /** Links without it could not be opened from a mail. */
  readonly publicUrl?: string | undefined;
}

/** Whether people can be sent links. */
export function canMail({ mail, publicUrl }: Mailing): boolean {
  return mail !== undefined && publicUrl !== undefined;
}

/** A link to a page of this service; a path where nobody said where the service is. */
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

/** Names are people's own words; a line break in a subject would be a header of its own. */
function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').slice(0, 200).toWellFormed();
}
