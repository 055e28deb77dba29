import { stripVTControlCharacters } from 'node:util';
import { hostOf, type RunFacts } from '@picket/checks/contract/facts.ts';
import { errorNameIn } from '@picket/checks/foreign-texts/javascript.ts';
import {
  lookedUpNameIn,
  networkCodeIn,
  networkFailureIn,
  systemPeerIn,
} from '@picket/checks/foreign-texts/network.ts';
import {
  expectationIn,
  locatorIn,
  type ScriptProblem,
  scriptProblemIn,
  urlIn,
} from '@picket/checks/foreign-texts/playwright.ts';
import { isNamedByMessage } from '@picket/checks/judging/location-part.ts';
import type { StoredRun } from '../evidence.ts';
import type { Peer } from './peer.ts';

/** What went wrong in a script, as its first error says. */
export interface ScriptFault {
  readonly kind: 'network' | ScriptProblem;
  /** What the network did, in the words of the catalogue; that of the run for anything else. */
  readonly code: string;
  readonly message: string;
  readonly test: string | null;
  readonly url: string | null;
  readonly host: string | null;
  readonly address: string | null;
  readonly peer: Peer | null;
  /** What the script waited for, such as `locator('#buy')`. */
  readonly locator: string | null;
  readonly expected: string | null;
  readonly received: string | null;
  /** The name of an error that the script threw by itself. */
  readonly errorName: string | null;
  /** Answers of servers that the page got and that say that something is wrong, and what it logged. */
  readonly pageErrors: readonly { readonly kind: string; readonly message: string; readonly url: string }[];
}

/** What is read of an error: it can hold a whole page. */
const maxReadLetters = 10_000;

/** What is known of the fault of a script; null for runs of other types. */
export function scriptFaultOf(run: StoredRun, { script }: RunFacts): ScriptFault | null {
  // Setup scripts have no list of errors, nor have runs whose detail was too large to be kept.
  if (!script && !isOfNetwork(run)) return null;
  const [first] = script?.errors ?? [];
  // With the colours that Playwright writes.
  const message = stripVTControlCharacters((first?.message || run.message || '').slice(0, maxReadLetters));
  const networkCode = networkCodeIn(message);
  const url = urlIn(message);
  const peer = systemPeerIn(message);
  return {
    kind: networkCode ? 'network' : scriptProblemIn(message),
    code: networkCode ?? run.code ?? '',
    message,
    test: first?.test ?? null,
    url,
    host: hostOf(lookedUpNameIn(message) ?? url ?? ''),
    address: peer?.address ?? null,
    peer: peer && { name: peer.address, port: peer.port },
    locator: locatorIn(message),
    ...expectationIn(message),
    errorName: thrownName(first?.name ?? null, message),
    pageErrors: script?.pageErrors ?? [],
  };
}

function isOfNetwork({ code, message }: StoredRun): boolean {
  return code !== null && isNamedByMessage(code) && networkFailureIn(message ?? '') !== null;
}

function thrownName(name: string | null, message: string): string | null {
  const said = errorNameIn(message, 'beginning') ?? name;
  return said === 'Error' ? null : said;
}
