import type { Capabilities } from './worker-message.ts';

const maxTextLength = 300;

/** What an agent says about check types beside their names, as claims carry it: one line of text for each. */
export function claimedFacts({ backends, failed }: Capabilities): {
  readonly backends: Record<string, string>;
  readonly unavailable: Record<string, string>;
} {
  return {
    backends: Object.fromEntries(Object.entries(backends).map(([name, text]) => [name, oneLine(text)])),
    unavailable: Object.fromEntries(failed.map(({ name, reason }) => [name, oneLine(reason)])),
  };
}

function oneLine(text: string): string {
  const line = text
    .toWellFormed()
    .replaceAll(/\p{C}+/gu, ' ')
    .trim();
  if (line === '') return 'no reason given';
  return line.length > maxTextLength ? `${line.slice(0, maxTextLength - 1).toWellFormed()}…` : line;
}
