import { setImmediate } from 'node:timers/promises';
import type { MetricsSubject } from './store.ts';
import type { LastRun, Totals } from './totals.ts';

/** Labels in an order, also as the text formats write them. */
export interface LabelSet {
  readonly pairs: readonly (readonly [name: string, value: string])[];
  readonly text: string;
}

/** Where a check runs. */
export interface SubjectAt {
  readonly labels: LabelSet;
  readonly totals: Totals;
  readonly last: LastRun | null;
  /** Whether the last run says how the target is now. */
  readonly isMeasured: boolean;
}

/** A check with what is said of it. */
export interface Subject {
  readonly check: MetricsSubject;
  readonly labels: LabelSet;
  /** Those of `picket_check_info`, beyond the others. */
  readonly infoLabels: LabelSet;
  readonly places: readonly SubjectAt[];
}

/** Takes samples one after the other; those of a family come together. */
export interface SampleSink {
  begin(family: Family): void;
  /** @param more labels behind the others. */
  add(name: string, value: number, labels: LabelSet, more?: LabelSet): void;
  /** Whether it has as much as it should hold. */
  readonly isFull: boolean;
  flush(): void;
}

/** One name of metrics with its samples. */
export interface Family {
  readonly name: string;
  readonly type: 'gauge' | 'counter' | 'histogram' | 'summary' | 'info';
  readonly help: string;
  readonly unit?: 'seconds' | 'ratio';
  /** The value of its sample that belongs to no check. */
  readonly alone?: number;
  /**
   * Whether its samples say how checks stand and end with that: who remembers samples has to hear of the end, or it goes
   * on to say what is not known any longer.
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

/** The format a client asks for; the older one where it does not say. */
export function formatFor(accept: string | undefined): TextFormat {
  return accept?.includes('application/openmetrics-text') ? 'openmetrics' : 'prometheus';
}

const noLabels = labelSet([]);

/** Gives a sink all samples. Others are served in between: there may be some hundred thousand. */
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
/** No line is as long, with all its labels. */
const roomBytes = 64 * 1024;
/** After that many others are served. */
const fullBytes = partBytes - 4 * roomBytes;
const [openBrace, closeBrace, comma, space, newline] = [123, 125, 44, 32, 10];

/**
 * Writes samples as text. Straight into bytes: an answer has some hundred thousand lines, and most differ from the one
 * before in a few bytes.
 */
export class TextSink implements SampleSink {
  readonly #format: TextFormat;
  readonly #take: (part: Buffer) => void;
  #part = Buffer.allocUnsafe(partBytes);
  #size = 0;
  /** The beginning of the last line, up to its labels, and where it is in the part. */
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

  /** The same for a few characters: quicker than a call that leaves JavaScript, unless there are others than ASCII. */
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
  // There a family has the name of its samples, and no type for information.
  const [full, known] =
    type === 'counter' ? [`${name}_total`, type] : type === 'info' ? [`${name}_info`, 'gauge'] : [name, type];
  return `# HELP ${full} ${help}\n# TYPE ${full} ${known}\n`;
}

const longestLabel = 200;

/** Labels as both formats write them; long values are cut. */
export function labelSet(all: readonly (readonly [name: string, value: string])[]): LabelSet {
  const pairs = all.map(([name, value]) => [name, value.slice(0, longestLabel)] as const);
  return { pairs, text: pairs.map(([name, value]) => `${name}="${escaped(value)}"`).join(',') };
}

/** Labels behind others. */
export function joined(first: LabelSet, second: LabelSet): LabelSet {
  return { pairs: [...first.pairs, ...second.pairs], text: `${first.text},${second.text}` };
}

function escaped(value: string): string {
  if (!/["\\\n]/.test(value)) return value;
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
