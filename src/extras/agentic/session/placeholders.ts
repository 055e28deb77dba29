/** `{{NAME}}` and `{{{NAME}}}`. */
const placeholder = /\{\{\{?\s*(\w{1,255})\s*\}?\}\}/g;
/** A URL within a prompt. */
const everyUrl = /https?:\/\/[^\s"'<>“”‘’()[\]{}]+/gi;
/** Shorter values match only as whole words: elsewhere they would match by chance. */
const minAnywhereLength = 5;

/** Names of the variables that a text references. */
export function namesIn(text: string): string[] {
  return [...new Set([...text.matchAll(placeholder)].map(([, name]) => name ?? ''))];
}

/** Origins that a run may contact: those of the URLs in its prompt, and those that the check adds. */
export function allowedOrigins(prompt: string, added: readonly string[]): string[] {
  const named = [...prompt.matchAll(everyUrl)].flatMap(([text]) => {
    const url = URL.parse(text.replace(/[.,;:!?]+$/, ''));
    return url ? [url.origin] : [];
  });
  return [...new Set([...named, ...added])];
}

/**
 * The variables that a prompt references: their values are used to execute steps and nowhere else. All output passes
 * `hide`, which replaces values by placeholders.
 */
export class Placeholders {
  readonly #values: ReadonlyMap<string, string>;
  readonly #hidden: readonly { readonly pattern: RegExp; readonly name: string }[];
  readonly #mask: (text: string) => string;

  /** @param mask removes every other secret of the run, in whatever form it appears. */
  constructor(
    names: readonly string[],
    variables: Readonly<Record<string, string>>,
    mask: (text: string) => string,
  ) {
    this.#mask = mask;
    this.#values = new Map(
      names.flatMap((name) => (Object.hasOwn(variables, name) ? [[name, variables[name] ?? '']] : [])),
    );
    const forms = [...this.#values].flatMap(([name, value]) =>
      [...new Set(formsOf(value))].map((form) => ({ name, form })),
    );
    // The longest first: a value may be part of another one.
    this.#hidden = forms
      .toSorted((left, right) => right.form.length - left.form.length)
      .map(({ name, form }) => ({ name, pattern: patternOf(form) }));
  }

  /** Names that a text references and that have no value here. */
  unknownIn(text: string): string[] {
    return namesIn(text).filter((name) => !this.#values.has(name));
  }

  /** Replaces the placeholders in a text by values. */
  fill(text: string): string {
    return text.replaceAll(placeholder, (whole, name: string) => this.#values.get(name) ?? whole);
  }

  /** Replaces the placeholders in all texts of a value. */
  fillAll<Value>(value: Value): Value {
    return mapTexts(value, (text) => this.fill(text)) as Value;
  }

  /**
   * A text as the model may read it. A value may be part of another secret: a user name in an address with a password,
   * the first line of another key. A placeholder within such a secret prevents its detection, so the result must show
   * no more than the text with all secrets masked.
   */
  hide(text: string): string {
    const hidden = this.#mask(this.#withNames(text));
    const masked = this.#mask(text);
    return showsNoMore(hidden, masked) ? hidden : this.#withNames(masked);
  }

  #withNames(text: string): string {
    let named = text;
    for (const { pattern, name } of this.#hidden) named = named.replaceAll(pattern, `{{${name}}}`);
    return named;
  }

  hideAll<Value>(value: Value): Value {
    return mapTexts(value, (text) => this.hide(text)) as Value;
  }
}

/** Whether the parts of a text between placeholders and masks occur in another text, in the same order. */
function showsNoMore(text: string, other: string): boolean {
  let from = 0;
  for (const piece of text.split(/\{\{\w{1,255}\}\}|\*{3,}/)) {
    const at = other.indexOf(piece, from);
    if (at < 0) return false;
    from = at + piece.length;
  }
  return true;
}

/** Forms in which a value may appear in a page, an address or a document. */
function formsOf(value: string): string[] {
  const trimmed = value.trim();
  if (trimmed === '') return [];
  const lines = trimmed.includes('\n') ? trimmed.split(/\r?\n/).map((line) => line.trim()) : [];
  return [trimmed, ...lines.filter((line) => line.length >= minAnywhereLength)].flatMap((one) => [
    one,
    one.replaceAll(/\s+/g, ' '),
    encodeURIComponent(one.toWellFormed()),
    encodeURIComponent(one.toWellFormed()).replaceAll('%20', '+'),
    JSON.stringify(one).slice(1, -1),
    one.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;'),
    // Shorter ones would match by chance.
    ...(one.length >= minAnywhereLength ? packedForms(one) : []),
  ]);
}

function packedForms(value: string): string[] {
  const bytes = Buffer.from(value);
  return [
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
    bytes.toString('hex'),
    [...value].toReversed().join(''),
  ];
}

/** Ignores case, because style sheets may capitalize names. */
function patternOf(form: string): RegExp {
  const escaped = form.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  if (form.length >= minAnywhereLength) return new RegExp(escaped, 'gi');
  return new RegExp(`(?<![\\p{L}\\p{N}_])${escaped}(?![\\p{L}\\p{N}_])`, 'giu');
}

function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [change(key), mapTexts(item, change)]),
  );
}
