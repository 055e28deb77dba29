import { z } from 'zod';

/** Headers for an operator-defined receiver, as a setting: `a=b,c=d` with percent-encoded values. */
export function headerListSetting() {
  return z
    .string()
    .regex(/^\s*([\w-]+\s*=[^,]*(,\s*|$))*$/, 'must be name=value, several separated by commas')
    .refine(isPercentEncoded, 'has a % that begins no percent-encoded character')
    .optional()
    .meta({ secret: true, defaultText: 'none' });
}

/** Parses the headers of such a setting, in OpenTelemetry's format. */
export function headersOf(text: string | undefined): (readonly [name: string, value: string])[] {
  return (text ?? '')
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
    .map((entry) => {
      const separator = entry.indexOf('=');
      return [
        entry.slice(0, separator).trim().toLowerCase(),
        decodeURIComponent(entry.slice(separator + 1).trim()),
      ] as const;
    });
}

function isPercentEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    // The message of the setting describes the problem.
    return false;
  }
}
