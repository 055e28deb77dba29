import type { Warning } from '@picket/protocol/http/warning.ts';
import type { Words } from '../forms/view.ts';
import type { Content } from '../html.ts';
import type { PageCall } from '../page.ts';

/** An object of a resource, as the API shows it. */
export type Shown = Readonly<Record<string, unknown>>;

/** The warnings of an object. @param field only those about this field. */
export function messagesOf({ warnings = [] }: Shown, field?: string): string[] {
  return (warnings as readonly Warning[]).flatMap((one) =>
    field === undefined || one.field === field ? [one.message] : [],
  );
}

/** What the schemas of a resource do not say about it. A resource without any still has its pages. */
export interface Appearance {
  readonly title?: string;
  /** What one of them is called, where the API has another word. */
  readonly noun?: string;
  /** What these are for, in a sentence. */
  readonly lead?: string;
  readonly words?: Words;
  /** Words that depend on what the account has. */
  readonly wordsFor?: (call: PageCall) => Promise<Words>;
  /** Fields that the list leaves out. */
  readonly unlisted?: readonly string[];
  /** How values of fields are shown, where their type does not say. */
  readonly cells?: Readonly<Record<string, (one: Shown, now: number) => Content>>;
  /** What else is shown of one. */
  readonly more?: (call: PageCall, one: Shown) => Promise<Content>;
  /** It has pages elsewhere. */
  readonly hasOwnPages?: true;
}
