import { type Appearance, messagesOf, type Shown } from './appearance.ts';
import { certificateEnd } from './certificate-end.ts';
import { sloStanding, sloSubjects } from './slo-standing.ts';
import { usesOfSnippet, usesOfVariable } from './used-by.ts';

const isHidden = ({ locked, secret }: Shown) => locked === true || secret === true;

/** By the name of the resource in the registry. */
export const appearances: Readonly<Record<string, Appearance>> = {
  windows: { hasOwnPages: true },
  variables: {
    lead: 'Values for {{KEY}} and scripts in all checks of the account. Secrets are never shown again.',
    words: {
      key: { label: 'Key', hint: 'Letters, digits, "_", "." and "-". It cannot be changed later.' },
      value: { lines: 3, hint: 'Empty if the value comes from the location.' },
      valueFrom: {
        label: 'Value from the location',
        hint: 'Name of a secret that the agents of each location declare, such as SERVICE_SECRET_DB. Leave the value empty: the service never sees it.',
      },
      locked: { label: 'Locked' },
      secret: { label: 'Secret' },
    },
    cells: {
      value: (one) => (one['valueFrom'] ? 'at the location' : isHidden(one) ? 'never shown' : undefined),
      warnings: (one) => messagesOf(one).join(' '),
    },
    more: usesOfVariable,
  },
  snippets: {
    lead: 'Scripts that checks share: setup, teardown, and parts of other scripts.',
    words: { script: { lines: 16, isCode: true } },
    more: usesOfSnippet,
  },
  certificates: {
    lead: 'Client certificates that checks present to hosts that request one. Keys are never shown again.',
    words: {
      cert: { label: 'Certificate' },
      key: { label: 'Private key', isSecret: true, lines: 8 },
      ca: { label: 'Authority' },
      passphrase: { isSecret: true },
    },
    cells: { expiresAt: certificateEnd },
  },
  slos: {
    title: 'Objectives',
    noun: 'objective',
    lead: 'Target share of successful runs, and the remaining error budget.',
    unlisted: ['description', 'checkId', 'groupId', 'tags', 'alertChannelIds'],
    words: {
      target: { label: 'Target in percent' },
      windowDays: { label: 'Window in days' },
      burnAlert: { label: 'Burns too fast' },
      'burnAlert.enabled': { label: 'Notify the channels' },
      'burnAlert.percentInHour': { label: 'Percent per hour' },
      'burnAlert.percentInSixHours': { label: 'Percent per six hours' },
      'burnAlert.minFailedRuns': { label: 'Minimum failed runs' },
      alertChannelIds: { label: 'Channels' },
    },
    wordsFor: sloSubjects,
    more: sloStanding,
  },
};
