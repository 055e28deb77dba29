import { LruMap } from '@picket/lib/lru.ts';
import type { Store } from '@picket/platform/store/store.ts';
import type { OverviewState } from '@picket/service/overviews/states.ts';
import type { OverviewChoices } from '@picket/service/overviews/store.ts';

/** Looking at every check takes at most this share of the time, however many readers there are. */
const shareOfTime = 0.05;
const longestKeptMs = 2_000;
const unfinishedMs = 500;
const keptAccounts = 200;
const keptAnswers = 50;
/** Choices follow writes; this bounds what a write that was missed costs. */
const choicesKeptMs = 60_000;

/** How the checks of an account stood at one instant, for all who look at them at about that time. */
export interface Board {
  /** The version of the account's statuses that it shows. */
  readonly version: number;
  readonly counts: ReadonlyMap<OverviewState, number>;
  readonly choices: OverviewChoices;
  /** What was made of it, by what was asked for. */
  readonly answers: LruMap<string, Promise<unknown>>;
}

interface CachedBoard {
  readonly board: Promise<Board>;
  /** The last write of the account when it was begun. */
  readonly written: string;
  readonly begunMs: number;
  /** How long it took; infinite while it is being made. */
  tookMs: number;
}

/** Whose overview is asked for. */
export interface BoardRequest {
  readonly store: Store;
  readonly accountId: string;
  readonly now: number;
  /** The version of the statuses that the reader was notified of; 0 for one who just comes. */
  readonly atLeast: number;
}

interface KeptChoices {
  readonly choices: Promise<OverviewChoices>;
  readonly written: string;
  readonly untilMs: number;
}

const choicesOf = new WeakMap<Store, LruMap<string, KeptChoices>>();
const boards = new WeakMap<Store, LruMap<string, CachedBoard>>();

/**
 * What all readers of an overview share. It looks at every check of the account, so it is kept for twenty
 * times as long as that took, at most two seconds: with few checks everybody reads the present state, with
 * 10,000 of them 200 readers cost little more than one. After a write of the account it is made anew, whichever
 * process it came to.
 */
async function boardOf({ store, accountId, now, atLeast }: BoardRequest): Promise<Board> {
  const known = boards.get(store) ?? new LruMap<string, CachedBoard>(keptAccounts);
  boards.set(store, known);
  const written = await store.audit.lastWrite(accountId);
  const found = known.get(accountId);
  if (found && found.written === written && isFresh(found)) {
    const board = await found.board;
    // A page that was notified of news is not answered with what was before them.
    if (board.version >= atLeast) return board;
    const newer = known.get(accountId);
    if (newer && newer !== found) return newer.board;
  }
  const begunMs = performance.now();
  const kept: CachedBoard = {
    board: readBoard({ store, accountId, now }, written),
    written,
    begunMs,
    tookMs: Number.POSITIVE_INFINITY,
  };
  known.set(accountId, kept);
  try {
    const board = await kept.board;
    kept.tookMs = performance.now() - begunMs;
    // What nobody may be shown any more takes no memory.
    setTimeout(() => known.get(accountId) === kept && known.delete(accountId), longestKeptMs).unref();
    return board;
  } catch (thrown) {
    kept.tookMs = 0;
    throw thrown;
  }
}

function isFresh({ begunMs, tookMs }: CachedBoard): boolean {
  return performance.now() - begunMs < Math.min(longestKeptMs, tookMs / shareOfTime);
}

/** The tags, groups and places of an account, which nothing but its writes changes: results do not. */
function knownChoices(store: Store, accountId: string, written: string): Promise<OverviewChoices> {
  const known = choicesOf.get(store) ?? new LruMap<string, KeptChoices>(keptAccounts);
  choicesOf.set(store, known);
  const found = known.get(accountId);
  if (found?.written === written && performance.now() < found.untilMs) return found.choices;
  const choices = store.overviews.choices(accountId);
  known.set(accountId, { choices, written, untilMs: performance.now() + choicesKeptMs });
  choices.catch(() => known.delete(accountId));
  return choices;
}

async function readBoard(
  { store, accountId, now }: Omit<BoardRequest, 'atLeast'>,
  written: string,
): Promise<Board> {
  // Asked before the rest: what changes meanwhile is news.
  const version = Math.max(
    await store.statuses.lastChange(accountId),
    await store.states.lastTurn(accountId, now),
  );
  const [counts, choices] = [
    await store.overviews.counts(accountId, now),
    await knownChoices(store, accountId, written),
  ];
  return { version, counts, choices, answers: new LruMap(keptAnswers) };
}

/**
 * Makes something of the board of an account, once for all who ask for the same while it is kept.
 *
 * @param make says also whether others may have it, which is so unless something was missing in it.
 */
export async function shared<T>(
  looked: BoardRequest,
  key: string,
  make: (board: Board) => Promise<{ readonly answer: T; readonly isWhole: boolean }>,
): Promise<T> {
  const board = await boardOf(looked);
  const known = board.answers.get(key) as Promise<T> | undefined;
  if (known) return known;
  const making = make(board).then(({ answer, isWhole }) => {
    // Everybody who waits for the rest asks again soon: then there may be more of it.
    if (!isWhole) setTimeout(() => board.answers.delete(key), unfinishedMs).unref();
    return answer;
  });
  board.answers.set(key, making);
  making.catch(() => board.answers.delete(key));
  return making;
}
