import { toError } from '@picket/lib/errors.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { Signal } from '@picket/platform/store/engine/signals.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { logLines, snapshotFiles, withSnapshots } from '@picket/service/sessions/result-files.ts';
import type { TestSessionState } from '@picket/service/sessions/stored/test-session-store.ts';
import { type LiveEvent, liveEventsOf } from './live-event.ts';
import { type LiveTopic, topicOf } from './topic.ts';

/** A subscription of one connection. */
export interface Follower {
  readonly topic: LiveTopic;
  publish(topic: string, payload: string): void;
}

/** Signals of other processes may be lost, and some runs end without one. */
const lookAgainMs = 2_000;
/** Sessions with many runs end many of them at a time: they are read together. */
const restMs = 150;

interface Watch {
  readonly follower: Follower;
  readonly sent: Set<string>;
  sessionId: string | undefined;
  isDone: boolean;
}

/**
 * Notifies followers of suites about events in the test sessions of that name. The events of a session follow from the
 * store, whichever process its runs ended in: a signal only says where to look, and every two seconds all unfinished
 * sessions are read anyway. Sent events are remembered only with a subscription: a client that lost its connection and
 * subscribes again, here or at another process, gets all events, and so those it missed.
 */
export class WatchedSuites {
  readonly #store: Store;
  readonly #logger: Logger;
  readonly #watches = new Map<Follower, Watch>();
  readonly #unsubscribe: () => void;
  /** Sessions to read next; `#isAllDue` if they are not known. */
  readonly #due = new Set<string>();
  #isAllDue = false;
  #resting: NodeJS.Timeout | undefined;
  readonly #looking: NodeJS.Timeout;
  #isBusy = false;

  constructor({ store, logger }: { readonly store: Store; readonly logger: Logger }) {
    this.#store = store;
    this.#logger = logger;
    this.#unsubscribe = store.signals.subscribe((signal) => this.#onSignal(signal));
    this.#looking = setInterval(() => this.#lookSoon(), lookAgainMs).unref();
  }

  follow(follower: Follower): void {
    this.#watches.set(follower, { follower, sent: new Set(), sessionId: undefined, isDone: false });
    this.#lookSoon();
  }

  leave(follower: Follower): void {
    this.#watches.delete(follower);
  }

  close(): void {
    this.#unsubscribe();
    clearInterval(this.#looking);
    clearTimeout(this.#resting);
    this.#watches.clear();
  }

  #onSignal(signal: Signal): void {
    if (signal.kind === 'look') this.#lookSoon();
    else if (signal.kind === 'tested') this.#lookSoon(signal.testSessionId);
  }

  #lookSoon(testSessionId?: string): void {
    if (this.#watches.size === 0) return;
    if (testSessionId === undefined) this.#isAllDue = true;
    else this.#due.add(testSessionId);
    this.#resting ??= setTimeout(() => void this.#look(), restMs).unref();
  }

  async #look(): Promise<void> {
    this.#resting = undefined;
    if (this.#isBusy) return this.#lookLater();
    this.#isBusy = true;
    const [due, isAllDue] = [new Set(this.#due), this.#isAllDue];
    this.#due.clear();
    this.#isAllDue = false;
    try {
      const open = [...this.#watches.values()].filter(
        ({ isDone, sessionId }) => !isDone && (isAllDue || sessionId === undefined || due.has(sessionId)),
      );
      const suites = [...new Set(open.map(({ follower }) => follower.topic.suiteId))];
      const states = await this.#store.testSessions.ofSuites(suites);
      for (const watch of open) await this.#tell(watch, states.filter(isOf(watch.follower.topic)));
    } catch (thrown) {
      // The next read follows within two seconds.
      this.#logger.debug({ err: toError(thrown) }, 'failed to read followed test sessions; retrying');
    } finally {
      this.#isBusy = false;
    }
  }

  #lookLater(): void {
    this.#resting ??= setTimeout(() => void this.#look(), restMs).unref();
  }

  async #tell(watch: Watch, states: readonly TestSessionState[]): Promise<void> {
    const { follower, sent } = watch;
    for (const state of states) {
      watch.sessionId = state.session.id;
      let isWaiting = false;
      for (const news of liveEventsOf(state)) {
        if (sent.has(news.id) || !this.#watches.has(follower)) continue;
        const payload = await this.#payload(follower.topic.accountId, news);
        if (payload === undefined) {
          isWaiting = true;
          continue;
        }
        sent.add(news.id);
        follower.publish(topicOf(follower.topic, news.run, news.event), JSON.stringify(payload));
      }
      watch.isDone = state.session.status !== 'RUNNING' && !isWaiting;
    }
  }

  /** Undefined for a result whose images are not stored yet. Logs are large: they are read on demand. */
  async #payload(accountId: string, { event, payload, picturesOf }: LiveEvent): Promise<unknown> {
    const { testSessions, artifacts } = this.#store;
    if (event === 'stream-logs') {
      const { resultId } = payload as { readonly resultId: string };
      const row = await testSessions.resultOfAccount(accountId, resultId);
      const logs = row ? logLines(row) : [];
      return { logs: logs.map(({ time, msg, level }) => ({ timestamp: time, message: msg, level })) };
    }
    if (picturesOf === undefined) return payload;
    const row = await testSessions.resultOfAccount(accountId, picturesOf);
    const files = (await artifacts.ofResults([picturesOf])).get(picturesOf) ?? [];
    const snapshots = row ? snapshotFiles(row, files) : [];
    return snapshots === 'awaited' ? undefined : withSnapshots(payload, snapshots);
  }
}

function isOf(topic: LiveTopic): (state: TestSessionState) => boolean {
  return ({ session }) => session.account_id === topic.accountId && session.suite_id === topic.suiteId;
}
