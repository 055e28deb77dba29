/** Results of a benchmark: a table for readers and figures for programs. */
export interface BenchReport {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** Sentences under the table: what was compared, what to keep in mind. */
  readonly notes: readonly string[];
  /** The figures of the final `BENCH` line. */
  readonly figures: Readonly<Record<string, string | number>>;
}

export interface BenchRun {
  /** Command-line options that the benchmark parses itself. */
  readonly options: readonly string[];
  /** Shows progress to the user. */
  progress(text: string): void;
}

export interface Bench {
  /** Its options with their defaults, such as `[--checks=1000] [--engine=sqlite|postgres]`; others are refused. */
  readonly usage: string;
  readonly title: string;
  run(run: BenchRun): Promise<BenchReport>;
}

/** Each option as one text: `--checks 1000` as `--checks=1000`. */
export function joinedOptions(given: readonly string[]): string[] {
  const options: string[] = [];
  for (const text of given) {
    const last = options.at(-1);
    const isValue = !text.startsWith('-') && last?.startsWith('-') && !last.includes('=');
    if (isValue) options[options.length - 1] = `${last}=${text}`;
    else options.push(text);
  }
  return options;
}

/**
 * Options that a benchmark does not have, flags with a value and other options without one: it would ignore them, and
 * measure something else than was wanted.
 */
export function unknownOptions(usage: string, options: readonly string[]): string[] {
  const known = new Set(Array.from(usage.matchAll(/--[a-z-]+=?/g), ([name]) => name));
  return options.filter((option) => !known.has(option.replace(/(?<==).*/s, '')));
}

/** A number option such as `--checks=1000`. */
export function numberOption(run: Pick<BenchRun, 'options'>, name: string, fallback: number): number {
  const text = textOption(run, name, String(fallback));
  const value = Number(text);
  if (text === '' || !Number.isFinite(value)) throw new Error(`--${name} needs a number`);
  return value;
}

/** The q-quantile (0..1) by nearest rank. */
export function quantile(values: readonly number[], q: number): number {
  if (values.length === 0) return Number.NaN;
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(q * sorted.length) - 1))] ?? Number.NaN;
}

/** A text option such as `--only=burst`. */
export function textOption(run: Pick<BenchRun, 'options'>, name: string, fallback: string): string {
  const given = run.options.find((option) => option.split('=', 1)[0] === `--${name}`);
  return given === undefined ? fallback : given.slice(`--${name}=`.length);
}

/** Both databases, as values of `--engine`. */
export const bothEngines = ['sqlite', 'postgres'] as const;

/**
 * An option that names parts, such as `--only=dns,icmp`; without it, all parts.
 *
 * @throws Error if it names a part that does not exist.
 */
export function choicesOption<Choice extends string>(
  run: Pick<BenchRun, 'options'>,
  name: string,
  choices: readonly Choice[],
): readonly Choice[] {
  const wanted = textOption(run, name, choices.join(',')).split(',');
  const unknown = wanted.filter((one) => !choices.includes(one as Choice));
  if (unknown.length > 0)
    throw new Error(`--${name}: ${unknown.join(', ')} is not one of ${choices.join(', ')}`);
  return choices.filter((choice) => wanted.includes(choice));
}
