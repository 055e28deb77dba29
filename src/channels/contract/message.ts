import { type Fact, plainText } from './text.ts';

/**
 * News on its way to a channel, the same for all of them: what is said is decided before, how it is written
 * is the channel's. Texts are free of control characters; those of one line are marked so.
 */
export interface ChannelMessage {
  /** The same at every try: receivers can tell a repetition by it. */
  readonly id: string;
  /** What happened, in one line. */
  readonly title: string;
  /** Why, in one line. */
  readonly cause: string;
  /** What failed, in words: `the target`. */
  readonly owner: string;
  /** Since when, in epoch milliseconds. */
  readonly since: number;
  /** The locations it was seen at. */
  readonly locations: readonly string[];
  /** What was wrong, as the run had it; may have several lines. null when there is nothing to say. */
  readonly error: string | null;
  readonly severity: 'critical' | 'warning' | 'info';
  /** Whether it ends what an earlier message began. */
  readonly isOver: boolean;
  /** What it is about: `check`, `certificate`, `location` and the like. */
  readonly subject: string;
  /** Identifies what it is about, among all subjects. */
  readonly subjectId: string;
  /** What all news of one thing is filed under by receivers that keep an incident until its recovery. */
  readonly incidentKey: string;
  readonly tags: readonly string[];
  /** All of that and more, for receivers that show lines. */
  readonly facts: readonly Fact[];
  /** Where people read the alert in a browser, without a key; null where nobody knows how to get there. */
  readonly link: string | null;
  /** When the alert was made, in epoch milliseconds. */
  readonly createdAt: number;
  /** Everything there is to say, by the names that templates of webhooks know (check model 4.4). */
  readonly variables: Readonly<Record<string, unknown>>;
}

/** Everything there is to say, for receivers that show details as a table. */
export function detailsOf({ variables }: ChannelMessage): Record<string, string> {
  const facts = Object.entries(variables).map(([name, value]) => {
    const text = Array.isArray(value) ? value.join(', ') : String(value ?? '');
    return [name.toLowerCase(), plainText(text)] as const;
  });
  return Object.fromEntries(facts.filter(([, text]) => text !== ''));
}
