/**
 * The expected form of numbers, independent of the program: computed on the digits of decimal texts, not with
 * floating-point arithmetic, so that both do not share an error.
 */

/** A percentage of the API, 0 to 100, as surfaces show it. */
export function percentOf(percent: number | null): string {
  if (percent === null) return '–';
  if (!(percent >= 0 && percent <= 100)) throw new Error(`${percent} is no percentage`);
  if (percent === 100) return '100 %';
  if (percent === 0) return '0 %';
  // 12 significant digits: further ones are floating-point noise.
  const text = Number(percent.toPrecision(12)).toFixed(12);
  const [whole = '0', digits = ''] = text.split('.');
  if (Number(whole) === 100) return '99.99 %';
  const two = digits.slice(0, 2);
  if (whole === '0' && two === '00') return '< 0.01 %';
  return `${`${whole}.${two}`.replace(/\.?0+$/, '') || '0'} %`;
}

/** Milliseconds of the API as surfaces show them. */
export function timeOf(ms: number | null): string {
  if (ms === null) return '–';
  if (ms > 0 && ms < 0.005) return '< 0.01 ms';
  if (ms < 1) return `${Number(ms.toFixed(2))} ms`;
  if (ms < 9.95) return `${Number(ms.toFixed(1))} ms`;
  if (ms < 999.5) return `${ms.toFixed(0)} ms`;
  if (ms < 9_995) return `${Number((ms / 1_000).toFixed(2))} s`;
  if (ms < 59_950) return `${Number((ms / 1_000).toFixed(1))} s`;
  const seconds = Math.max(60, Math.floor(ms / 1_000));
  if (seconds >= 3_600) throw new Error('the fixture has no time of an hour');
  return seconds % 60 === 0 ? `${seconds / 60} min` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** A count as surfaces show it. */
export function countOf(count: number): string {
  return String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, ',');
}

/** The remaining budget, in percent of the API: rounded down, never up. */
export function leftOf(percent: number): string {
  if (percent >= 0) return percentOf(percent);
  const [whole = '0', digits = ''] = Number((-percent).toPrecision(12)).toFixed(12).split('.');
  const hundredths =
    BigInt(whole) * 100n + BigInt(digits.slice(0, 2)) + (/[1-9]/.test(digits.slice(2)) ? 1n : 0n);
  const [units, rest] = [
    hundredths / 100n,
    String(hundredths % 100n)
      .padStart(2, '0')
      .replace(/0+$/, ''),
  ];
  return `−${countOf(Number(units))}${rest === '' ? '' : `.${rest}`} %`;
}

/** The expiry of a certificate, in days of the API, as surfaces show it. */
export function expiryOf(days: number): string {
  const words = (count: number) => `${countOf(count)} day${count === 1 ? '' : 's'}`;
  if (days > 0) return `expires in ${words(days)}`;
  if (days === 0) return 'expires within a day';
  return days === -1 ? 'expired less than a day ago' : `expired ${words(-1 - days)} ago`;
}

/**
 * The visible text of a document: the text between its tags, except code, field values, ids, and settings as they were
 * written.
 */
export function textOf(document: string): string {
  return document
    .replaceAll(/<(style|script|pre|code|textarea|option|title|del|ins)\b[\s\S]*?<\/\1>/g, ' ')
    .replaceAll(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g, ' ')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/&lt;/g, '<')
    .replaceAll(/&(#39|quot|amp|gt);/g, ' ')
    .replaceAll(/\s+/g, ' ');
}

/** Figures in a text that are badly formatted, whatever they mean. */
export function figureProblems(text: string): string[] {
  const wrong = [
    // Every number has thousands separators except years, ports and codes.
    ...text.matchAll(/(?<![\d.,:#/-])(?!20\d\d\b)\d{4,}(?![\d.:/-])(?: \w+)?/g),
    ...text.matchAll(/\bNaN\b|\bInfinity\b|\bundefined\b|Invalid Date|\[object/g),
    ...text.matchAll(/[-−]\d[\d.,]* ?(?:ms|s|min|h|d)\b/g),
    ...text.matchAll(/\b(?:60 s|60 min|1000 ms|24 h 60)\b/g),
    // More digits than any measurement has.
    ...text.matchAll(/\d+\.\d{4,}/g),
  ];
  return wrong.map(([found]) => found);
}

/** Percentages in a text. */
export function percentsIn(text: string): string[] {
  return [...text.matchAll(/(?:< )?−?[\d.,]+ ?%/g)].map(([found]) => found);
}
