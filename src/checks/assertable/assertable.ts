import { isRecord } from '@picket/lib/json/record.ts';

/** A value of a result, and the assertion that holds for it. */
export interface AssertableValue {
  readonly label: string;
  /** As people read it. */
  readonly value: string;
  readonly assertion: {
    readonly source: string;
    readonly property: string;
    readonly comparison: 'EQUALS' | 'CONTAINS' | 'LESS_THAN' | 'IS_NULL';
    readonly target: string;
  };
}

const mostValues = 40;
const mostItems = 3;
const longestText = 100_000;
const longestValue = 200;

/** Returns the assertion that a source has this value again; none for a text too long to compare. */
export function sameAgain(
  label: string,
  source: string,
  value: string | number | boolean,
  property = '',
): AssertableValue[] {
  const text = String(value);
  if (text.length > longestValue) return [];
  return [{ label, value: text, assertion: { source, property, comparison: 'EQUALS', target: text } }];
}

/** Returns the assertion that a source has this text somewhere. */
export function containedAgain(label: string, source: string, text: string): AssertableValue[] {
  const [line = ''] = text.trim().split('\n', 1);
  if (line === '' || line.length > longestValue) return [];
  return [{ label, value: line, assertion: { source, property: '', comparison: 'CONTAINS', target: line } }];
}

/** Returns the assertion that it takes at most twice as long again, in steps of 100 ms. */
export function asFast(milliseconds: number, property = ''): AssertableValue[] {
  const target = String(Math.max(100, Math.ceil((milliseconds * 2) / 100) * 100));
  return [
    {
      label: 'Response time',
      value: `below ${target} ms`,
      assertion: { source: 'RESPONSE_TIME', property, comparison: 'LESS_THAN', target },
    },
  ];
}

/** Returns the assertions that the values in a JSON text are the same again; none for other texts. */
export function sameJson(source: string, text: string): AssertableValue[] {
  if (text.length > longestText || !/^\s*[[{]/.test(text)) return [];
  try {
    return leavesOf(source, JSON.parse(text), '$').slice(0, mostValues);
  } catch {
    return []; // It only looks like JSON.
  }
}

function leavesOf(source: string, value: unknown, path: string): AssertableValue[] {
  if (Array.isArray(value)) {
    return value.slice(0, mostItems).flatMap((one, index) => leavesOf(source, one, `${path}[${index}]`));
  }
  if (isRecord(value)) {
    return Object.entries(value).flatMap(([key, one]) => leavesOf(source, one, `${path}${member(key)}`));
  }
  if (value === null) {
    return [
      {
        label: path,
        value: 'null',
        assertion: { source, property: path, comparison: 'IS_NULL', target: '' },
      },
    ];
  }
  // Larger integers are not exact, and an empty target means no value.
  const isExact = typeof value !== 'number' || !Number.isInteger(value) || Number.isSafeInteger(value);
  return isExact && value !== '' ? sameAgain(path, source, value as string | number | boolean, path) : [];
}

/** A member of an object in a JSON path. */
function member(key: string): string {
  if (/^[A-Za-z_]\w*$/.test(key)) return `.${key}`;
  return `['${key.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}']`;
}
