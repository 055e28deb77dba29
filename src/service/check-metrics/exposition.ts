import { setImmediate } from 'node:timers/promises';
import type { MetricsSubject } from './store.ts';
import type { LastRun, Totals } from './totals.ts';

/** Where a check runs, with its labels written out once. */
export interface SubjectAt {
  readonly labels: string;
  readonly totals: Totals;
  readonly last: LastRun | null;
}

/** A check with what is said of it. */
export interface Subject {
  readonly check: MetricsSubject;
  readonly labels: string;
  /** Those of `picket_check_info`, beyond the others. */
  readonly infoLabels: string;
  readonly places: readonly SubjectAt[];
}

/** One name of metrics with its samples. */
export interface Family {
  readonly name: string;
  readonly type: 'gauge' | 'counter' | 'histogram' | 'summary' | 'info';
  readonly help: string;
  readonly unit?: 'seconds' | 'ratio';
  /** Its lines that belong to no check. */
  readonly alone?: string;
  /** Adds the lines of one check. */
  readonly write: (lines: string[], subject: Subject) => void;
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

const linesPerStep = 4_000;

/** Families of checks as text. Others are served in between: there may be some hundred thousand lines. */
export async function textOf(
  families: readonly Family[],
  subjects: readonly Subject[],
  format: TextFormat,
): Promise<Buffer> {
  const parts: Buffer[] = [];
  let lines: string[] = [];
  const take = async () => {
    parts.push(Buffer.from(lines.join('')));
    lines = [];
    await setImmediate();
  };
  for (const family of families) {
    lines.push(headOf(family, format), family.alone ?? '');
    for (const subject of subjects) {
      family.write(lines, subject);
      if (lines.length >= linesPerStep) await take();
    }
  }
  if (format === 'openmetrics') lines.push('# EOF\n');
  await take();
  return Buffer.concat(parts);
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

/** A label with its value as the formats write it. */
export function label(name: string, value: string): string {
  const escaped = value
    .slice(0, longestLabel)
    .replaceAll('\\', '\\\\')
    .replaceAll('"', '\\"')
    .replaceAll('\n', '\\n');
  return `${name}="${escaped}"`;
}
