/**
 * Name, code and place of an error, for the log. Its message stays out: it may quote the check, a variable or a URL.
 */
export function crashSite(error: Error): string {
  const { code } = error as NodeJS.ErrnoException;
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  return [error.name, ...(code ? [code] : []), ...frames.slice(0, 8).map((line) => line.trim())].join(' ');
}
