import { awayMs, type History, isMissed, minuteMs, type Span, slotsOf } from './history.ts';
import { type CheckTruth, holdsAt, holdsThrough, holdsWithin, truthOf } from './model.ts';

/** A notification as its channel received it. Times count from the beginning of the history. */
export interface Sent {
  readonly at: number;
  readonly channel: 'desk' | 'moved-desk' | 'chat';
  /** The key under which the receiver files it. */
  readonly key: string;
  readonly isOver: boolean;
  /** It reports a single check, while other checks of its cause may still fail. */
  readonly isRecovery: boolean;
  /** Set if it only adds to an earlier message about its cause: checks that joined or recovered. */
  readonly update: 'joined' | 'recovered' | null;
  /** Index of the check of its alert; NaN for an alert of a location. */
  readonly check: number;
  /** Location of its alert; null for an alert of a check. */
  readonly place: number | null;
  readonly causeId: string | null;
  readonly title: string;
}

/** An alert as it was stored. */
export interface Raised {
  readonly at: number;
  readonly check: number;
  readonly causeId: string | null;
  readonly isSuppressed: boolean;
  readonly notice: string;
}

export interface Verdict {
  readonly violations: readonly string[];
  /** Messages to the chat that open a problem, and the number of outages of hosts that the chat had to learn of. */
  readonly messages: number;
  readonly causes: number;
  /** Further messages to the chat, about checks that joined or recovered while others still failed. */
  readonly joined: number;
  readonly recovered: number;
  /** Outages that had to be reported. */
  readonly due: number;
}

/** Time for grouping with checks that fail by the same cause, and until the next evaluation. */
const slackMs = 20_000;

/** Compares the notifications of a history with its truth. */
export function judged(history: History, sent: readonly Sent[], raised: readonly Raised[]): Verdict {
  const truth = truthOf(history);
  const channels: readonly ('desk' | 'chat')[] = history.hasChat ? ['desk', 'chat'] : ['desk'];
  const due = channels.flatMap((channel) =>
    truth.flatMap((one, check) =>
      dueOf(one, history, check, channel).map((span) => ({ ...span, check, channel })),
    ),
  );
  const violations = [
    ...due.flatMap((one) => (isTold(one, sent, raised) ? [] : [describeUntold(one)])),
    ...sent.flatMap((one) => (isMove(one, history) ? [] : wronglySent(one, truth))),
    ...incidentsLeft(sent),
    ...locationsWrong(history, truth, sent),
  ];
  const ofChat = sent.filter(
    ({ channel, isRecovery, update, place }) =>
      channel === 'chat' && !isRecovery && update === null && place === null,
  );
  return {
    violations: violations.map((text) => `history ${history.seed}: ${text}`),
    messages: ofChat.length,
    causes: causesOf(history, truth, ofChat),
    joined: updatesOf(sent, 'joined'),
    recovered: updatesOf(sent, 'recovered'),
    due: due.length,
  };
}

function updatesOf(sent: readonly Sent[], kind: 'joined' | 'recovered'): number {
  return sent.filter(({ channel, update }) => channel === 'chat' && update === kind).length;
}

interface Due extends Span {
  /** Deadline of the notification. */
  readonly by: number;
}

/**
 * Outages of a check that must be reported: within an interval and a minute after enough runs have failed and no mute,
 * window or silence holds the alert.
 */
function dueOf(truth: CheckTruth, history: History, check: number, channel: 'desk' | 'chat'): Due[] {
  const { intervalMs = 0, escalationMinutes = null } = history.checks[check] ?? {};
  // Minutes pass without another run.
  const waitMs = escalationMinutes === null ? intervalMs : 0;
  const heard = channel === 'chat' ? withoutMoves(truth, history, check) : truth.subscribed;
  return truth.outages.flatMap((outage) => {
    if (outage.reachedAt === null) return [];
    const free = firstFree(truth.held, outage.reachedAt);
    const by = free + waitMs + minuteMs;
    const isFlapping = holdsWithin(truth.flaps, { from: outage.from, to: by });
    const isDue = by <= outage.to && !isFlapping && !holdsWithin(truth.held, { from: free, to: by });
    return isDue && holdsThrough(heard, { from: outage.from, to: by }) ? [{ ...outage, by }] : [];
  });
}

/** The chat is neither moved nor deleted. */
function withoutMoves(truth: CheckTruth, history: History, check: number): readonly Span[] {
  const left = history.deeds.find(({ deed }) => deed.kind === 'unsubscribe' && deed.check === check);
  return left ? [{ from: 0, to: left.at }] : [{ from: 0, to: history.endsAt + 1 }, ...truth.subscribed];
}

function firstFree(held: readonly Span[], from: number): number {
  let at = from;
  for (const span of held) if (span.from <= at && at < span.to) at = span.to;
  return at;
}

/** Whether a channel was notified of an outage, of the check itself or of the cause that it shares with others. */
function isTold(
  { check, channel, from, by }: Due & { readonly check: number; readonly channel: string },
  sent: readonly Sent[],
  raised: readonly Raised[],
): boolean {
  const begun = sent.filter((one) => one.channel === channel && !one.isRecovery && one.at <= by);
  if (begun.some((one) => one.check === check && one.at >= from)) return true;
  const causes = raised.flatMap((one) =>
    one.check === check && one.at >= from && one.at <= by && !one.isSuppressed ? (one.causeId ?? []) : [],
  );
  return begun.some(({ causeId }) => causeId !== null && causes.includes(causeId));
}

function describeUntold({ check, channel, from, to, by }: Due & { check: number; channel: string }): string {
  return `${channel} heard nothing by ${minutes(by)} of check ${check}, which failed ${minutes(from)} to ${minutes(to)}`;
}

/** Incidents that were open at one receiver are opened at the other, even while alerts are held: that is no news. */
function isMove({ channel, at }: Sent, { deeds }: History): boolean {
  return channel === 'moved-desk' && deeds.some((one) => one.deed.kind === 'move-channel' && one.at === at);
}

/**
 * Notifications while alerts are held, of checks that do not fail, and of checks that the channel is not subscribed to.
 */
function wronglySent(one: Sent, truth: readonly CheckTruth[]): string[] {
  const of = truth[one.check];
  if (!of || one.isRecovery) {
    const isMutedChat =
      one.channel === 'chat' && of && holdsAt(of.muted, one.at) && holdsAt(of.muted, one.at - slackMs);
    // The message that a cause is over is about all of its checks.
    return isMutedChat && one.causeId === null
      ? [`chat heard "${one.title}" at ${minutes(one.at)} in a mute`]
      : [];
  }
  const lately = { from: one.at - slackMs, to: one.at + 1 };
  const wrong: string[] = [];
  if (!holdsWithin([...of.outages, ...of.flaps], lately)) wrong.push('of what does not fail');
  if (holdsThrough(of.held, lately)) wrong.push('in a window, mute or silence');
  return wrong.map((why) => `${one.channel} heard "${one.title}" at ${minutes(one.at)} ${why}`);
}

/**
 * A location without agents is reported once while that lasts, and once when it is over. The report is due as soon as a
 * slot there is missed and no agent was seen for two minutes.
 */
function locationsWrong(
  { deaths, checks, hasChat, deeds }: History,
  truth: readonly CheckTruth[],
  sent: readonly Sent[],
): string[] {
  const isCut = deeds.some(({ deed }) => deed.kind === 'move-channel' || deed.kind === 'delete-channel');
  const channels = [...(hasChat ? (['chat'] as const) : []), ...(isCut ? [] : (['desk'] as const))];
  return deaths.flatMap((spans, place) =>
    channels.flatMap((channel) => {
      const ofPlace = sent.filter((one) => one.place === place && one.channel === channel);
      const begun = ofPlace.filter(({ isRecovery }) => !isRecovery);
      const [death] = spans;
      const isTrue = begun.every(({ at }) => death && at >= death.from + awayMs && at <= death.to);
      const isDue = checks.some((check, index) => {
        const { alive = [], muted = [], subscribed = [] } = truth[index] ?? {};
        const isHeard =
          death &&
          holdsThrough(alive, death) &&
          holdsThrough(subscribed, death) &&
          !holdsWithin(muted, death);
        return (
          isHeard &&
          !check.isHeartbeat &&
          slotsOf(check, death.to).some((slotAt) => isMissed(check, place, { slotAt, death }))
        );
      });
      const isRight = isTrue && begun.length <= 1 && ofPlace.length === 2 * begun.length;
      if (isRight && (begun.length === 1 || !isDue)) return [];
      const told = ofPlace.map(({ at, title }) => `"${title}" at ${minutes(at)}`).join(', ');
      return [
        `${channel} heard of location ${place}, away ${death ? minutes(death.from) : 'never'}: ${told}`,
      ];
    }),
  );
}

/** Every incident must be opened before it is closed, closed once, and none may remain open. */
function incidentsLeft(sent: readonly Sent[]): string[] {
  const open = new Map<string, Sent>();
  const wrong: string[] = [];
  for (const one of sent) {
    if (one.channel === 'chat') continue;
    const name = `${one.channel} ${one.key}`;
    if (!one.isRecovery) open.set(name, open.get(name) ?? one);
    else if (one.isOver && !open.delete(name))
      wrong.push(`${one.channel} was told the end of what is not open: "${one.title}"`);
  }
  return [
    ...wrong,
    ...[...open.values()].map(
      (one) => `${one.channel} keeps for ever what began at ${minutes(one.at)}: "${one.title}"`,
    ),
  ];
}

/**
 * Number of outages of hosts that the messages were about. Heartbeats share no target, and flapping counts as separate
 * news.
 */
function causesOf(history: History, truth: readonly CheckTruth[], ofChat: readonly Sent[]): number {
  const causes = new Set<string>();
  for (const { at, check } of ofChat) {
    const { host, isHeartbeat } = history.checks[check] ?? { host: 0 };
    const outage = (history.outages[host] ?? []).findLastIndex(({ from }) => from <= at);
    const flap = truth[check]?.flaps.findIndex(({ from, to }) => at >= from && at <= to) ?? -1;
    const own = isHeartbeat || flap >= 0 ? `check ${check} ${flap}` : '';
    causes.add(`${host} ${flap >= 0 ? '' : outage} ${own} ${episodeOf(truth[check], at)}`);
  }
  return causes.size;
}

/** A check that was deactivated and activated again fails anew. */
function episodeOf(truth: CheckTruth | undefined, at: number): number {
  return truth?.alive.findIndex(({ from, to }) => at >= from && at <= to + slackMs) ?? 0;
}

const minutes = (ms: number) => `${Math.round(ms / 600) / 100} min`;
