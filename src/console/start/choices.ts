import type { PageCall } from '../page.ts';
import { cookieOf, isSecure, setCookie } from '../requests/cookie.ts';

/** Cookie with the choices of a browser: skipped steps, and `dismissed` or `no-examples`. */
const name = 'picket-start';
const maxAgeSeconds = 400 * 86_400;

export type StartChoice = 'location' | 'check' | 'channel' | 'page' | 'dismissed' | 'no-examples';
const choices: readonly string[] = [
  'location',
  'check',
  'channel',
  'page',
  'dismissed',
  'no-examples',
] satisfies StartChoice[];

/** Returns the choices of this browser: they are kept in a cookie, since they concern its reader only. */
export function choicesMade(request: PageCall['request']): ReadonlySet<StartChoice> {
  const words = (cookieOf(request, name) ?? '').split('.').filter((word) => choices.includes(word));
  return new Set(words as StartChoice[]);
}

/** Keeps a choice, or takes it back. */
export function choose({ request, reply, publicUrl }: PageCall, choice: StartChoice, isChosen = true): void {
  const made = new Set(choicesMade(request));
  if (isChosen) made.add(choice);
  else made.delete(choice);
  const options = { maxAgeSeconds, isSecure: isSecure(request, publicUrl) };
  setCookie(reply, name, [...made].join('.'), options);
}

export function isChoice(text: string | null): text is StartChoice {
  return text !== null && choices.includes(text);
}
