import { setImmediate } from 'node:timers/promises';
import type { MetricsSubject } from './store.ts';
import type { LastRun, Totals } from './totals.ts';

/** An ordered set of labels, also in the text format. */
export interface LabelSet {
  readonly pairs: readonly (readonly [name: string, value: string])[];
  readonly text: string;
}

/** A location of a check. */
export interface SubjectAt {
  readonly labels: LabelSet;
  readonly totals: Totals;
  readonly last: LastRun | null;
  /** Whether the last run reflects the current state of the target. */
  readonly isMeasured: boolean;
}

/** A check with its data for metrics. */
export interface Subject {
  readonly check: MetricsSubject;
  readonly labels: LabelSet;
  /** Additional labels of `picket_check_info`. */
  readonly infoLabels: LabelSet;
  readonly places: readonly SubjectAt[];
}

/** Receives samples in sequence, grouped by family. */
export interface SampleSink {
  begin(family: Family): void;
  /** @param more labels appended to the others. */
  add(name: string, value: number, labels: LabelSet, more?: LabelSet): void;
  /** Whether it has reached its capacity. */
  readonly isFull: boolean;
  flush(): void;
}

/** A metric name with its samples. */
export interface Family {
  readonly name: string;
  readonly type: 'gauge' | 'counter' | 'histogram' | 'summary' | 'info';
  readonly help: string;
  readonly unit?: 'seconds' | 'ratio';
  /** Value of a sample that belongs to no check. */
  readonly alone?: number;
  /**
   * Whether its samples reflect the state of checks and end with it: a receiver that remembers samples must be notified
   * of the end, or it keeps reporting outdated values.
   */
  readonly isOfState?: true;
  /** Adds the samples of one check. */
  readonly write: (sink: SampleSink, subject: Subject) => void;
}

/** The two text formats of Prometheus. */
export type TextFormat = 'openmetrics' | 'prometheus';

export const contentTypes: Readonly<Record<TextFormat, string>> = {
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
  prometheus: 'text/plain; version=0.0.4; charset=utf-8',
};

/** Format that a client requests; defaults to the older one. */
export function formatFor(accept: string | undefined): TextFormat {
  return accept?.includes('application/openmetrics-text') ? 'openmetrics' : 'prometheus';
}

const noLabels = labelSet([]);

/** Writes all samples to a sink. Yields in between, because there may be several hundred thousand. */
export async function writeFamilies(
  families: readonly Family[],
  subjects: readonly Subject[],
  sink: SampleSink,
): Promise<void> {
  for (const family of families) {
    sink.begin(family);
    if (family.alone !== undefined) sink.add(family.name, family.alone, noLabels);
    for (const subject of subjects) {
      family.write(sink, subject);
      if (!sink.isFull) continue;
      sink.flush();
      await setImmediate();
    }
  }
  sink.flush();
}

const partBytes = 1024 * 1024;
/** Upper bound for the length of a line with all its labels. */
const roomBytes = 64 * 1024;
/** Size of a part after which it yields. */
const fullBytes = partBytes - 4 * roomBytes;
const [openBrace, closeBrace, comma, space, newline] = [123, 125, 44, 32, 10];

/**
 * Writes samples as text, directly into bytes: a response has several hundred thousand lines, and most differ from the
 * previous one in a few bytes.
 */
export class TextSink implements SampleSink {
  readonly #format: TextFormat;
  readonly #take: (part: Buffer) => void;
  #part = Buffer.allocUnsafe(partBytes);
  #size = 0;
  /** Start of the last line, up to its labels, and its position in the part. */
  #name = '';
  #labels: LabelSet | undefined;
  #from = 0;
  #to = 0;

  constructor(format: TextFormat, take: (part: Buffer) => void) {
    this.#format = format;
    this.#take = take;
  }

  begin(family: Family): void {
    this.#text(headOf(family, this.#format));
  }

  add(name: string, value: number, labels: LabelSet, more?: LabelSet): void {
    if (this.#size > partBytes - roomBytes) this.flush();
    if (this.#labels === labels && this.#name === name) {
      const at = this.#size;
      this.#size += this.#to - this.#from;
      this.#part.copyWithin(at, this.#from, this.#to);
      [this.#from, this.#to] = [at, this.#size];
    } else {
      this.#beginLine(name, labels);
    }
    const hasLabels = labels.text !== '';
    if (more !== undefined) {
      if (hasLabels) this.#part[this.#size++] = comma;
      this.#short(more.text);
    }
    if (hasLabels || more !== undefined) this.#part[this.#size++] = closeBrace;
    this.#part[this.#size++] = space;
    this.#short(String(value));
    this.#part[this.#size++] = newline;
  }

  get isFull(): boolean {
    return this.#size >= fullBytes;
  }

  flush(): void {
    this.#take(this.#part.subarray(0, this.#size));
    this.#part = Buffer.allocUnsafe(partBytes);
    this.#size = 0;
    this.#labels = undefined;
  }

  end(): void {
    if (this.#format === 'openmetrics') this.#text('# EOF\n');
    this.flush();
  }

  #beginLine(name: string, labels: LabelSet): void {
    [this.#name, this.#labels, this.#from] = [name, labels, this.#size];
    this.#short(name);
    if (labels.text !== '') {
      this.#part[this.#size++] = openBrace;
      this.#text(labels.text);
    }
    this.#to = this.#size;
  }

  #text(text: string): void {
    this.#size += this.#part.write(text, this.#size);
  }

  /** Same for short texts: faster than a call that leaves JavaScript, unless they contain non-ASCII characters. */
  #short(text: string): void {
    for (let index = 0; index < text.length; index += 1) {
      const code = text.charCodeAt(index);
      if (code > 127) {
        this.#text(text);
        return;
      }
      this.#part[this.#size + index] = code;
    }
    this.#size += text.length;
  }
}

function headOf({ name, type, help, unit }: Family, format: TextFormat): string {
  if (format === 'openmetrics') {
    const unitLine = unit === undefined ? '' : `# UNIT ${name} ${unit}\n`;
    return `# TYPE ${name} ${type}\n${unitLine}# HELP ${name} ${help}\n`;
  }
  // In this format a family is named like its samples, and there is no type for information.
  const [full, known] =
    type === 'counter' ? [`${name}_total`, type] : type === 'info' ? [`${name}_info`, 'gauge'] : [name, type];
  return `# HELP ${full} ${help}\n# TYPE ${full} ${known}\n`;
}

const longestLabel = 200;

/** Labels in the syntax of both formats; long values are cut. */
export function labelSet(all: readonly (readonly [name: string, value: string])[]): LabelSet {
  const pairs = all.map(([name, value]) => [name, value.slice(0, longestLabel)] as const);
  return { pairs, text: pairs.map(([name, value]) => `${name}="${escaped(value)}"`).join(',') };
}

/** Concatenates two label sets. */
export function joined(first: LabelSet, second: LabelSet): LabelSet {
  return { pairs: [...first.pairs, ...second.pairs], text: `${first.text},${second.text}` };
}

function escaped(value: string): string {
  if (!/["\\\n]/.test(value)) return value;
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
