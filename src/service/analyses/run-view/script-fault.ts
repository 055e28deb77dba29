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

/** Fault of a script, according to its first error. */
export interface ScriptFault {
  readonly kind: 'network' | ScriptProblem;
  /** Network failure code from the catalogue; for other faults the code of the run. */
  readonly code: string;
  readonly message: string;
  readonly test: string | null;
  readonly url: string | null;
  readonly host: string | null;
  readonly address: string | null;
  readonly peer: Peer | null;
  /** Locator that the script waited for, such as `locator('#buy')`. */
  readonly locator: string | null;
  readonly expected: string | null;
  readonly received: string | null;
  /** Name of an error that the script threw itself. */
  readonly errorName: string | null;
  /** Error responses that the page received, and errors that it logged. */
  readonly pageErrors: readonly { readonly kind: string; readonly message: string; readonly url: string }[];
}

/** Part of an error message that is read: it can contain a whole page. */
const maxReadLetters = 10_000;

/** Known fault of a script; null for runs of other types. */
export function scriptFaultOf(run: StoredRun, { script }: RunFacts): ScriptFault | null {
  // Setup scripts have no list of errors, nor do runs whose detail was too large to keep.
  if (!script && !isOfNetwork(run)) return null;
  const [first] = script?.errors ?? [];
  // Removes the colours that Playwright writes.
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
