import type { Warning } from '@picket/protocol/http/warning.ts';
import type { Words } from '../forms/view.ts';
import type { Content } from '../html.ts';
import type { PageCall } from '../page.ts';

/** An object of a resource as shown by the API. */
export type Shown = Readonly<Record<string, unknown>>;

/** Returns the warnings of an object. @param field only those about this field. */
export function messagesOf({ warnings = [] }: Shown, field?: string): string[] {
  return (warnings as readonly Warning[]).flatMap((one) =>
    field === undefined || one.field === field ? [one.message] : [],
  );
}

/** Presentation of a resource beyond its schemas. A resource without any also has pages. */
export interface Appearance {
  readonly title?: string;
  /** The noun for one object, if it differs from the API's. */
  readonly noun?: string;
  /** Purpose of the resource in one sentence. */
  readonly lead?: string;
  readonly words?: Words;
  /** Words that depend on the account's data. */
  readonly wordsFor?: (call: PageCall) => Promise<Words>;
  /** Fields omitted from the list. */
  readonly unlisted?: readonly string[];
  /** Formats of field values that their type does not determine. */
  readonly cells?: Readonly<Record<string, (one: Shown, now: number) => Content>>;
  /** Additional content for one object. */
  readonly more?: (call: PageCall, one: Shown) => Promise<Content>;
  /** It has separate pages. */
  readonly hasOwnPages?: true;
}
