import type { Tone } from '@picket/lib/mail/palette.ts';
import { type Fact, plainText } from './text.ts';

/**
 * A message to a channel, the same for all channels: the sender decides the content, the channel the format. Texts have
 * no control characters; single-line texts are marked as single-line.
 */
export interface ChannelMessage {
  /** The same on every attempt, so receivers can detect duplicates. */
  readonly id: string;
  /** Headline, one line. */
  readonly title: string;
  /** State, name and location in one short line: `Failing: Shop · fra1`. */
  readonly subjectLine: string;
  /** State of the subject in one or two words, and its colour. */
  readonly state: { readonly word: string; readonly tone: Tone };
  /** The same for all messages about one episode, so that receivers can show them together. */
  readonly thread: string;
  /** Next steps for a reader, two at most, the more important one first. */
  readonly actions: readonly { readonly label: string; readonly url: string }[];
  /** Reason, one line. */
  readonly cause: string;
  /** Party at fault, in words: `the target`. */
  readonly owner: string;
  /** Start of the problem, in epoch milliseconds. */
  readonly since: number;
  /** Locations that reported it. */
  readonly locations: readonly string[];
  /** Error message of the run; may have several lines. null without one. */
  readonly error: string | null;
  readonly severity: 'critical' | 'warning' | 'info';
  /** Whether it ends the problem that an earlier message reported. */
  readonly isOver: boolean;
  /** Kind of subject: `check`, `certificate`, `location` and the like. */
  readonly subject: string;
  /** Identifies the subject among all kinds. */
  readonly subjectId: string;
  /** Groups all messages about one problem, for receivers that keep an incident open until its recovery. */
  readonly incidentKey: string;
  readonly tags: readonly string[];
  /** All of the above and more, for receivers that show lines. */
  readonly facts: readonly Fact[];
  /** URL of the alert for people, without an API key; null if the service does not know its public URL. */
  readonly link: string | null;
  /** Creation time of the alert, in epoch milliseconds. */
  readonly createdAt: number;
  /** All values, by the names that webhook templates use (check model 4.4). */
  readonly variables: Readonly<Record<string, unknown>>;
}

/** Returns all values, for receivers that show details as a table. */
export function detailsOf({ variables }: ChannelMessage): Record<string, string> {
  const facts = Object.entries(variables).map(([name, value]) => {
    const text = Array.isArray(value) ? value.join(', ') : String(value ?? '');
    return [name.toLowerCase(), plainText(text)] as const;
  });
  return Object.fromEntries(facts.filter(([, text]) => text !== ''));
}
