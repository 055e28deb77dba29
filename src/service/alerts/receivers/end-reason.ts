/** Why an incident at a receiver ends without a recovery that is notified everywhere. */
export const endReasons = [
  'recovered',
  'check-deleted',
  'check-deactivated',
  'group-deactivated',
  'no-location',
  'channel-unsubscribed',
  'channel-changed',
  'channel-deleted',
  'location-deleted',
  'certificate-renewed',
  'over',
] as const;
export type EndReason = (typeof endReasons)[number];

const sentences: Readonly<Record<EndReason, string>> = {
  recovered: 'the check passes again',
  'check-deleted': 'the check was deleted',
  'check-deactivated': 'the check was deactivated',
  'group-deactivated': 'the group of the check was deactivated',
  'no-location': 'the check has no location left',
  'channel-unsubscribed': 'this channel is no longer subscribed',
  'channel-changed': 'the alert channel now uses another receiver',
  'channel-deleted': 'the alert channel was deleted',
  'location-deleted': 'the private location was deleted',
  'certificate-renewed': 'the certificate was renewed',
  over: 'it is over',
};

/** Title of an incident that ends for a reason, in one line. */
export function endTitle(name: string, reason: EndReason): string {
  return `${name}: ${sentences[reason]}`;
}

/** Reason for the end, as a sentence. */
export function endText(reason: EndReason): string {
  const text = sentences[reason];
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
}
