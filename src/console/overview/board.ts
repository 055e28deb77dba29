import { LruMap } from '@picket/lib/lru.ts';
import type { Store } from '@picket/platform/store/store.ts';
import type { OverviewChoices } from '@picket/service/overviews/overview.ts';
import type { OverviewState } from '@picket/service/overviews/states.ts';

/** Maximum share of time for scans of all checks, regardless of the number of readers. */
const shareOfTime = 0.05;
const longestKeptMs = 2_000;
const unfinishedMs = 500;
const keptAccounts = 200;
const keptAnswers = 50;
/** Choices follow writes; this limits the effect of a missed write. */
const choicesKeptMs = 60_000;

/** State of an account's checks at one instant, shared by all readers around that time. */
export interface Board {
  /** Version of the account's statuses. */
  readonly version: number;
  readonly counts: ReadonlyMap<OverviewState, number>;
  readonly choices: OverviewChoices;
  /** Derived answers, by request. */
  readonly answers: LruMap<string, Promise<unknown>>;
}

interface CachedBoard {
  readonly board: Promise<Board>;
  /** Last write of the account at the start of the scan. */
  readonly written: string;
  readonly begunMs: number;
  /** Duration of the scan; infinite while it runs. */
  tookMs: number;
}

/** The requested overview. */
export interface BoardRequest {
  readonly store: Store;
  readonly accountId: string;
  readonly now: number;
  /** Version of the statuses that the reader was notified of; 0 for a first request. */
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
 * Returns the state that all readers of an overview share. It scans all checks of the account, so it is cached for
 * twenty times the duration of the scan, at most two seconds: with few checks all readers get the present state, with
 * 10,000 of them 200 readers cost little more than one. A write of the account through any process rebuilds it.
 */
async function boardOf({ store, accountId, now, atLeast }: BoardRequest): Promise<Board> {
  const known = boards.get(store) ?? new LruMap<string, CachedBoard>(keptAccounts);
  boards.set(store, known);
  const written = await store.audit.lastWrite(accountId);
  const found = known.get(accountId);
  if (found && found.written === written && isFresh(found)) {
    const board = await found.board;
    // A page that was notified of a change must not get an older state.
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
    // Frees the memory of an expired board.
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

/** Returns the tags, groups and locations of an account, which only writes change, not results. */
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
  // Read before the rest: a later change counts as news.
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
 * Derives an answer from the board of an account, once for all equal requests while the board is cached.
 *
 * @param make also returns whether the answer may be shared, that is, whether it is complete.
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
    // All waiting readers refresh soon: more of the answer may be available then.
    if (!isWhole) setTimeout(() => board.answers.delete(key), unfinishedMs).unref();
    return answer;
  });
  board.answers.set(key, making);
  making.catch(() => board.answers.delete(key));
  return making;
}
