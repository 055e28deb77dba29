const maxLength = 300;

/** Parts removed from a message, in this order: a pattern precedes those that it may contain. */
const privateParts: readonly (readonly [RegExp, string])[] = [
  // Quoted texts and structures are user data: a body that is not JSON, an invalid value.
  [/"[^"]*"|`[^`]*`|'[^']*'/gs, '"…"'],
  [/[{[].*[}\]]/gs, '{…}'],
  [/\b[a-z][a-z0-9+.-]*:\/\/\S*/gi, '<url>'],
  [
    /\b(authorization|cookie|set-cookie|[\w-]*(?:token|key|password|passwd|secret))\b\s*[:=]\s*.*/gi,
    '$1: <value>',
  ],
  [/\b[A-Z][A-Z0-9_]{2,}=\S+/g, '<variable>'],
  [/\S+@\S+/g, '<address>'],
  [/(?:^|(?<=[\s(=:]))(?:~?\/|[A-Za-z]:\\)[^\s:,;)]+/g, '<path>'],
  [/\b(E[A-Z]{3,}(?:_[A-Z]+)?)\s+[^\s:]+(?::\d+)?/g, '$1 <address>'],
  [/(?<![\w:])[0-9a-f]{0,4}:[0-9a-f:.]*:[0-9a-f:.]*(?:%\w+)?/gi, '<address>'],
  [/\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b/g, '<address>'],
  [/\b[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}\b(?::\d+)?/gi, '<name>'],
  [/\blocalhost(?::\d+)?\b/gi, '<name>'],
  [/[A-Za-z0-9+/_=-]*\d[A-Za-z0-9+/_=-]{11,}|[A-Za-z0-9+/_=-]{11,}\d[A-Za-z0-9+/_=-]*/g, '<token>'],
];

/**
 * An error message without parts that may be private: quoted texts, structures, URLs, addresses, host names, paths,
 * values of credentials and variables, and strings that look like keys. The rest says what went wrong, not where or
 * with what. In doubt it removes too much.
 */
export function privateMessage(message: string): string {
  let text = message.slice(0, 4096);
  for (const [pattern, replacement] of privateParts) text = text.replaceAll(pattern, replacement);
  return text
    .replaceAll(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, maxLength);
}

/**
 * Name, code and stack of an error, for the log. Its message is left out: it may quote the check, a variable or a URL.
 */
export function crashSite(error: Error): string {
  const { code } = error as NodeJS.ErrnoException;
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  return [error.name, ...(code ? [code] : []), ...frames.slice(0, 8).map((line) => line.trim())].join(' ');
}
