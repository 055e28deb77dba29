import type { ResponseHeaders } from '../answer-head.ts';

/** A challenge of `WWW-Authenticate` (RFC 9110 section 11.6.1). */
export interface Challenge {
  /** As written; compare it without regard to case. */
  readonly scheme: string;
  /** Data in Base64, as NTLM and Negotiate send it. */
  readonly token: string | undefined;
  /** Parameters by their names in lower case, unquoted; the first of a name counts. */
  readonly parameters: ReadonlyMap<string, string>;
}

/** Most challenges that are read, and most parameters of each. */
const mostChallenges = 30;
const mostParameters = 40;

const separators = /[ \t,]*/y;
const token = /[!#$%&'*+\-.^_`|~0-9A-Za-z]+/y;
const token68 = /[ \t]+([A-Za-z0-9\-._~+/]+=*)[ \t]*(?=,|$)/y;
const assignment = /([!#$%&'*+\-.^_`|~0-9A-Za-z]+)[ \t]*=[ \t]*/y;
const quoted = /"((?:[^"\\]|\\.)*)"/y;
const bare = /[^\s,"]+/y;

/** Returns the challenges of a response in their order. Stops at the first text that is not a challenge. */
export function challengesOf(headers: ResponseHeaders): Challenge[] {
  const value = headers['www-authenticate'] ?? [];
  const lines = typeof value === 'string' ? [value] : value;
  return lines.flatMap((line) => challengesIn(line)).slice(0, mostChallenges);
}

function challengesIn(line: string): Challenge[] {
  const found: Challenge[] = [];
  let position = 0;
  const read = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = position;
    const match = pattern.exec(line);
    if (match) position += match[0].length;
    return match ?? undefined;
  };
  while (found.length < mostChallenges) {
    read(separators);
    const scheme = read(token)?.[0];
    if (scheme === undefined) break;
    const data = read(token68)?.[1];
    const parameters = new Map<string, string>();
    if (data === undefined) readParameters(read, parameters);
    found.push({ scheme, token: data, parameters });
  }
  return found;
}

/** A name without `=` after a comma is the next scheme. */
function readParameters(
  read: (pattern: RegExp) => RegExpExecArray | undefined,
  parameters: Map<string, string>,
): void {
  for (let count = 0; count < mostParameters; count += 1) {
    read(separators);
    const name = read(assignment)?.[1]?.toLowerCase();
    if (name === undefined) return;
    const text = read(quoted)?.[1]?.replaceAll(/\\(.)/g, '$1') ?? read(bare)?.[0];
    if (text !== undefined && !parameters.has(name)) parameters.set(name, text);
  }
}
