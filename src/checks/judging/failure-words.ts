import { stripVTControlCharacters } from 'node:util';
import { beginningOf } from '@picket/lib/text.ts';
import { type FailureOwner, failureCatalogue, isFailureCode } from '../contract/failure.ts';
import { scriptErrorIn } from '../foreign-texts/javascript.ts';
import { networkFailureIn } from '../foreign-texts/network.ts';
import { locationPart } from './location-part.ts';

/**
 * The failed part if a run did not pass, as far as one run shows it. `path`: no connection or response, and a single
 * run cannot distinguish the target from the network path to it. `check`: the definition; `script`: the script itself;
 * `script-or-target`: one of the two.
 */
export const failingParts = [
  'target',
  'path',
  'location',
  'agent',
  'check',
  'script',
  'script-or-target',
] as const;
export type Failing = (typeof failingParts)[number];

/** A failure in words. Every page, message and command that states why a run did not pass uses these. */
export interface FailureWords {
  readonly failing: Failing;
  /** The failed part in words: `the target`, `the location, not the target`. */
  readonly whatFailed: string;
  /** Name of the part alone: `the location`. */
  readonly part: string;
  /** Reason, in one sentence on one line. */
  readonly sentence: string;
  /** The whole message, if the sentence omits a part of it. */
  readonly wholeMessage: string | null;
  /** Meaning of the code, if this build knows it and the sentence does not state it. */
  readonly meaning: string | null;
}

/** A stored failure: the agent may be newer than this build, and earlier builds stored fewer fields. */
export interface KnownFailure {
  readonly owner: string | null;
  readonly code: string | null;
  readonly message: string | null;
}

const parts: Readonly<Record<Failing, string>> = {
  target: 'the target',
  path: 'the target, or the network path to it',
  location: 'the location',
  agent: 'the agent',
  check: 'the definition of the check',
  script: 'the script of the check',
  'script-or-target': 'the target, or the script of the check',
};
const notOfTarget: ReadonlySet<Failing> = new Set(['location', 'agent', 'check', 'script']);

const maxSentenceLength = 300;

export function failureWords(failed: KnownFailure): FailureWords {
  const failing = failingOf(failed);
  const part = parts[failing];
  const whatFailed = notOfTarget.has(failing) ? `${part}, not the target` : part;
  return { failing, whatFailed, part, ...sentenceOf(failed) };
}

/**
 * A system error of a connection ("connect ECONNREFUSED") is preceded by the meaning of its code; the message of an
 * assertion, a status or a script is clear without it.
 */
function sentenceOf({
  code,
  message,
}: KnownFailure): Pick<FailureWords, 'sentence' | 'wholeMessage' | 'meaning'> {
  const entry = code !== null && isFailureCode(code) ? failureCatalogue[code] : undefined;
  const whole = message ?? '';
  const said = firstLine(whole);
  if (said === '') {
    return { sentence: entry?.meaning ?? 'The run gave no reason.', wholeMessage: null, meaning: null };
  }
  const meaning = entry?.meaning.replace(/\.$/, '') ?? null;
  const isIntroduced = entry?.isNetworkError === true && said !== meaning;
  const full = isIntroduced ? `${meaning}: ${said}` : said;
  const sentence = beginningOf(full, maxSentenceLength).toWellFormed();
  return {
    sentence,
    wholeMessage: said === whole.trim() && sentence === full ? null : whole,
    meaning: isIntroduced || said === meaning ? null : meaning,
  };
}

function firstLine(message: string): string {
  const lines = stripVTControlCharacters(message).split(/[\r\n\u2028\u2029]+/);
  const line = lines.find((one) => one.trim() !== '') ?? '';
  return beginningOf(line.replaceAll(/\s+/g, ' ').trim(), maxSentenceLength).toWellFormed();
}

function failingOf({ owner, code, message }: KnownFailure): Failing {
  if (code === null || !isFailureCode(code)) return ofOwner(owner);
  switch (code) {
    case 'SCRIPT_INVALID':
    case 'BUNDLE_INVALID':
    case 'INSTALL_FAILED':
    case 'INSTALL_TIMED_OUT':
    case 'SCRIPT_OUT_OF_MEMORY':
    case 'SCRIPT_LIMIT_EXCEEDED':
      return 'script';
    case 'PROMPT_NOT_FOLLOWED':
      return 'script-or-target';
  }
  const { owner: known } = failureCatalogue[code];
  if (known !== 'target') return ofOwner(known);
  if (locationPart(code, message ?? '') !== null) return 'path';
  if (code === 'SCRIPT_FAILED') return ofScript(message ?? '');
  return code === 'SCRIPT_TIMED_OUT' ? 'script-or-target' : 'target';
}

const owners: Readonly<Record<FailureOwner, Failing>> = {
  target: 'target',
  location: 'location',
  agent: 'agent',
  config: 'check',
};

function ofOwner(owner: string | null): Failing {
  return owner !== null && Object.hasOwn(owners, owner) ? owners[owner as FailureOwner] : 'target';
}

function ofScript(message: string): Failing {
  if (networkFailureIn(message)) return 'target';
  const ownError = scriptErrorIn(message);
  if (ownError === null) return 'target';
  return ownError === 'surely' ? 'script' : 'script-or-target';
}
