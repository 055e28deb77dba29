/** Parts of a form below its first level, in their order. */
export const topics = [
  'request',
  'assertions',
  'limits',
  'schedule',
  'alerts',
  'grouping',
  'scripts',
  'further',
] as const;
export type Topic = (typeof topics)[number];

/** How a form shows one field, beyond its schema. */
export interface FieldLayout {
  readonly label?: string;
  readonly hint?: string;
  /** Whether it is on the first level: a check cannot do without it. */
  readonly isFirst?: boolean;
  /** Width on the first level; the whole row if absent. */
  readonly width?: 'narrow' | 'half' | 'wide';
  /** Part of the form below the first level; by default `request` for fields of a type, `further` for common ones. */
  readonly topic?: Topic;
  /** Height of a multi-line text, in lines. */
  readonly lines?: number;
  /** Whether the text is code or is parsed by a program. */
  readonly isCode?: boolean;
  /** Whether the section is collapsed initially. */
  readonly isFolded?: boolean;
  /** Whether the form omits the field and leaves its value unchanged. */
  readonly isHidden?: boolean;
  /** Whether the form omits the field while it is empty. */
  readonly isOnlyIfSet?: boolean;
  /**
   * Path of an object that may be absent. While it is there, the field has no effect: forms hide it then, with and without
   * scripts (editor.css has a rule for each such path), and save its default. For fields outside of rows.
   */
  readonly unusedWith?: 'schedule' | 'heartbeat.schedule';
  /** For an object that may be absent: the choice within it whose options are shown in place of the object's presence. */
  readonly pickedBy?: string;
  /** Labels of the choices, by value. */
  readonly words?: Readonly<Record<string, string>>;
  /** Scheme of a URL without one: `https`. */
  readonly scheme?: string;
  /** A check without a name is named after this value. */
  readonly names?: NameSource;
  /** Value in a new form, if the schema has no default. */
  readonly initial?: string | number;
  /** Where its value comes from, if a user rather chooses than types it. */
  readonly picker?: Picker;
}

/** How the value of a field becomes a name: host and path of a URL, a title of a test, or the text itself. */
export type NameSource = 'url' | 'test' | 'text';

/** Tags of the account, its checks by name, or its uploaded code bundles. */
export type Picker = 'tags' | 'checks' | 'bundles';

/**
 * How a form shows the fields of a type, by their paths (`*` for the index of a row), in display order; other fields
 * follow, in the order of their schema. A type needs no layout.
 */
export type FormLayout = Readonly<Record<string, FieldLayout>>;

/** Content that a new check of a type can start from. */
export interface Template {
  readonly title: string;
  /** Values of the form, by the paths of its fields. */
  readonly fields: Readonly<Record<string, string>>;
}

const longestName = 80;

/** Returns the name of a check after a value; empty if the value gives none. */
export function nameAfter(value: string, source: NameSource): string {
  return nameIn(value.trim(), source).slice(0, longestName).trim();
}

function nameIn(value: string, source: NameSource): string {
  if (source === 'url') {
    const url = URL.parse(value);
    return url && url.host !== '' ? `${url.host}${url.pathname.replace(/\/$/, '')}` : '';
  }
  if (source === 'test') return /\btest\(\s*(['"`])(.+?)\1/.exec(value)?.[2] ?? '';
  return value.split('\n', 1)[0] ?? '';
}
