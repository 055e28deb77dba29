import { isIP } from 'node:net';
import { parseHostname } from '../contract/target.ts';

const label = /^(?!-)[a-z0-9-]{1,63}(?<!-)$/;

/** Normalizes a registered domain: lower case, `xn--`, no dot at the end. @returns undefined if it is not one. */
export function parseDomain(written: string): string | undefined {
  const name = parseHostname(written)?.replace(/\.$/, '');
  if (name === undefined || isIP(name) !== 0 || name.length > 253) return undefined;
  const labels = name.split('.');
  return labels.length > 1 && labels.every((one) => label.test(one)) ? name : undefined;
}
