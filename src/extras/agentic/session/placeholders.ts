/** `{{NAME}}` and `{{{NAME}}}`. */
const placeholder = /\{\{\{?\s*(\w{1,255})\s*\}?\}\}/g;
/** Where a URL may stand in a prompt. */
const everyUrl = /https?:\/\/[^\s"'<>“”‘’()[\]{}]+/gi;
/** Shorter values are found only where they stand by themselves: they would be found by chance. */
const minAnywhereLength = 5;

/** The names of the variables that a text names. */
export function namesIn(text: string): string[] {
  return [...new Set([...text.matchAll(placeholder)].map(([, name]) => name ?? ''))];
}

/** The origins that a run may reach: those of the URLs in its prompt, and those that the check adds. */
export function allowedOrigins(prompt: string, added: readonly string[]): string[] {
  const named = [...prompt.matchAll(everyUrl)].flatMap(([text]) => {
    const url = URL.parse(text.replace(/[.,;:!?]+$/, ''));
    return url ? [url.origin] : [];
  });
  return [...new Set([...named, ...added])];
}

/**
 * The variables that a prompt names: their values go where a step is done and nowhere else. What comes back is
 * read through `hide`, which puts the placeholders where values were.
 */
export class Placeholders {
  readonly #values: ReadonlyMap<string, string>;
  readonly #hidden: readonly { readonly pattern: RegExp; readonly name: string }[];
  readonly #mask: (text: string) => string;

  /** @param mask takes out every other secret of the run, in whatever form it stands there. */
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
    // The longest first: a value may be a part of another one.
    this.#hidden = forms
      .toSorted((left, right) => right.form.length - left.form.length)
      .map(({ name, form }) => ({ name, pattern: patternOf(form) }));
  }

  /** Names that a text uses and that have no value here. */
  unknownIn(text: string): string[] {
    return namesIn(text).filter((name) => !this.#values.has(name));
  }

  /** A text with the values in it. */
  fill(text: string): string {
    return text.replaceAll(placeholder, (whole, name: string) => this.#values.get(name) ?? whole);
  }

  /** A value with the values in all of its texts. */
  fillAll<Value>(value: Value): Value {
    return mapTexts(value, (text) => this.fill(text)) as Value;
  }

  /**
   * A text as the model may read it. A value may be a part of another secret: a user name of an address with a password, the
   * first line of another key. With a placeholder in it that secret is found no more, so nothing may be seen then that
   * the text would not show with all secrets masked.
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

/** Whether what stands between the placeholders and masks of a text stands in another one too, in that order. */
function showsNoMore(text: string, other: string): boolean {
  let from = 0;
  for (const piece of text.split(/\{\{\w{1,255}\}\}|\*{3,}/)) {
    const at = other.indexOf(piece, from);
    if (at < 0) return false;
    from = at + piece.length;
  }
  return true;
}

/** How a value may stand in a page, an address or a document. */
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
    // Shorter ones would be found by chance.
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

/** Letters of either case: style sheets show names in capitals. */
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
