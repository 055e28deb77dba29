import type { Answer, ChannelSettings, OutboundRequest, Sender } from '@picket/channels/contract/channel.ts';
import type { ChannelMessage } from '@picket/channels/contract/message.ts';
import { findChannelKind } from '@picket/channels/index.ts';
import type { WebhookConfig } from '@picket/channels/webhook/config.ts';
import { TemplateError } from '@picket/checks/judging/templating.ts';
import type { Clock } from '@picket/lib/clock.ts';
import { AppError, toError } from '@picket/lib/errors.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { Delivery, OutboundHttp } from '@picket/platform/outbound/outbound-http.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { storedValue } from '@picket/platform/store/stored-json.ts';
import { type AnalysisCounter, analysisOfResult } from '../../analyses/analyst.ts';
import type { MailServer } from '../../mail/mail-server.ts';
import { summaryOf } from '../causes/summary.ts';
import { type AlertChannel, formerChannel } from '../channels/store.ts';
import { type AlertFacts, isOfCheck } from '../facts.ts';
import { storedFacts } from '../raise.ts';
import type { AlertNotificationRow, AlertRow } from '../tables.ts';
import { InFlight } from './in-flight.ts';
import { channelMessage } from './message.ts';
import { linkLastsMs, signedPageLink } from './page-link.ts';
import { quietOf } from './quiet.ts';
import { templateThread } from './template-thread.ts';

const refusedParts = storedValue<readonly string[]>('alert_notifications.refused', []);

type HttpSender = Extract<Sender<unknown>, { kind: 'http' }>;

/** Transports to receivers. */
export interface Outlets {
  readonly http: OutboundHttp;
  /** Absent if no mail server is configured. */
  readonly mail?: MailServer | undefined;
  readonly settings: ChannelSettings;
}

/** Outcome of a notification: `refused` at once, `given-up` after the last attempt. */
export type NotificationOutcome = 'delivered' | 'refused' | 'given-up' | 'rate-limited' | 'quiet';

/** Counts notifications by outcome. */
export interface NotificationCounter {
  countNotification(accountId: string, channelType: string, outcome: NotificationOutcome): void;
}

export interface NotifierOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly outlets: Outlets;
  readonly metrics: NotificationCounter & AnalysisCounter;
  /** Whether a model is available for causes that rules leave open; delivery does not wait for it. */
  readonly asksModel?: boolean | undefined;
  /** URL of the API for clients, used in links; without it messages have no links. */
  readonly publicUrl?: string | undefined;
  /** Whether links to runs lead to their pages; otherwise they lead to the API. */
  readonly hasPages: boolean;
  /** Limit of notifications per channel and minute; 0: unlimited. */
  readonly maxPerMinute: number;
}

/** Maximum number of due notifications considered per turn. */
const maxLookedAt = 500;
/** Longer than any attempt: after that the process that took the notification is gone, and another may take it. */
const takenForMs = 60_000;
/** Leaves time for one more request before another process may take the notification. */
const longestRoundMs = 40_000;
const maxRetries = 5;
/** For a day: a receiver that keeps incidents keeps one forever if its end never arrives. */
const maxRetriesOfEnds = 150;
const firstRetryMs = 20_000;
const longestRetryMs = 10 * 60_000;
const minuteMs = 60_000;
/** Longest delay for a channel over its limit, after which a notification is dropped. */
const longestWaitMs = 10 * minuteMs;
const waitForRoomMs = 5_000;

/**
 * Notifies channels of alerts. Each channel and each account has its own limits. An idle channel does not wait for
 * other channels of its account, nor an idle account for other accounts: a receiver that hangs delays only its own
 * channel. A notification is stored together with its alert. Any process may take it, for a limited time and with a
 * fencing counter: the process that took it last decides its outcome. It is tried up to six times, at first 20 s apart,
 * then doubling. If a process is killed during an attempt, the notification is taken again. A channel may thus be
 * notified twice of an alert, with the same notification id, but is never skipped.
 */
export class Notifier {
  readonly #options: NotifierOptions;
  readonly #inFlight = new InFlight();

  constructor(options: NotifierOptions) {
    this.#options = options;
  }

  async turn(wake: () => void): Promise<number | null> {
    const { store, clock } = this.#options;
    // The loop wakes when any of them ends.
    if (this.#inFlight.isFull()) return null;
    const dueAt = await store.notifications.nextDueAt(this.#inFlight.crowd());
    const now = clock.wallMs();
    // Reads first, so that an idle service opens no write transactions.
    if (dueAt === null || dueAt > now) return dueAt;
    const taken = await store.transaction(async ({ notifications }) => {
      const due = await notifications.due(now, maxLookedAt, this.#inFlight.crowd());
      return notifications.claim(this.#inFlight.admitted(due), now, now + takenForMs);
    });
    for (const row of taken) this.#begin(row, wake);
    return store.notifications.nextDueAt(this.#inFlight.crowd());
  }

  /** Waits for notifications in flight and releases their resources. */
  async close(): Promise<void> {
    await this.#inFlight.ended();
    await this.#options.outlets.http.close();
  }

  #begin(row: AlertNotificationRow, wake: () => void): void {
    const { logger, clock } = this.#options;
    const beganMs = clock.monotonicMs();
    const work = this.#notify(row)
      .catch((thrown: unknown) => {
        // It stays taken for a while and is then retried.
        logger.error(
          { notificationId: row.id, err: toError(thrown) },
          'notification failed unexpectedly; it will be retried',
        );
      })
      .finally(() => {
        this.#inFlight.end(row, clock.monotonicMs() - beganMs);
        wake();
      });
    this.#inFlight.begin(row, work);
  }

  async #notify(row: AlertNotificationRow): Promise<void> {
    const { store, clock } = this.#options;
    const [channel, alerts, signingKey] = await Promise.all([
      this.#channelOf(row),
      store.alerts.findMany([row.alert_id]),
      store.alertLinkKeys.of(row.account_id),
    ]);
    const alert = alerts.get(row.alert_id);
    if (!channel || !alert) {
      await this.#end(row, 'FAILURE', 'the channel was deleted', 'refused');
      return;
    }
    const quiet = await quietOf(store, { row, alert, channel }, clock.wallMs());
    if (quiet.kind === 'held') {
      const result = `held by quiet hours until ${new Date(quiet.until).toISOString()}`;
      await store.notifications.hold(row, quiet.until, result);
      return;
    }
    if (quiet.kind === 'over') {
      await this.#end(row, 'QUIET', quiet.reason, 'quiet');
      return;
    }
    const isEnd =
      alert.notice === 'recovery' &&
      !row.cause_update &&
      findChannelKind(channel.type)?.keepsIncidents === true;
    if (await this.#isOverLimit(row, { since: quiet.since, isEnd })) return;
    const causes = await store.alertCauses.findMany(alert.cause_id ? [alert.cause_id] : []);
    const openCause = causes.get(alert.cause_id ?? '');
    const cause = summaryOf(openCause, row);
    const analysis = await this.#analysisOf(alert);
    const first = openCause?.members.find(({ fact }) => fact.checkId === row.check_id);
    const threadSince = first && { threadSince: first.fact.since };
    const message = this.#messageOf(row, alert, { signingKey, ...threadSince, cause, analysis });
    const delivery = await this.#deliver(row, channel, message);
    await this.#record(row, delivery, isEnd ? maxRetriesOfEnds : maxRetries);
  }

  /** The channel of a notification; as it was before the change if this is the last message to its former receiver. */
  async #channelOf(row: AlertNotificationRow): Promise<AlertChannel | undefined> {
    const { alertChannels, receiverIncidents } = this.#options.store;
    if (row.former_channel_id === null) return alertChannels.find(row.account_id, row.channel_id);
    const former = await receiverIncidents.findFormer(row.former_channel_id);
    return former && formerChannel(former, row.channel_id);
  }

  /** Analysis of the error behind a failure. */
  async #analysisOf({
    notice,
    check_id: checkId,
    result_id: resultId,
  }: AlertRow): Promise<AlertFacts['analysis']> {
    const { logger } = this.#options;
    if (notice !== 'failure' || resultId === null) return undefined;
    try {
      return await analysisOfResult(this.#options, { checkId, resultId });
    } catch (thrown) {
      if (thrown instanceof AppError) throw thrown;
      logger.error({ checkId, resultId, err: toError(thrown) }, 'analysis failed; notified without it');
      return undefined;
    }
  }

  /**
   * Postpones a notification while its channel is over its limit, and drops it if that lasts too long; never drops the
   * end of an incident that the receiver keeps.
   */
  async #isOverLimit(
    row: AlertNotificationRow,
    { since, isEnd }: { readonly since: number; readonly isEnd: boolean },
  ): Promise<boolean> {
    const { store, clock, maxPerMinute } = this.#options;
    if (maxPerMinute === 0) return false;
    const now = clock.wallMs();
    const tried = await store.notifications.triedSince(row.channel_id, now - minuteMs, row.position);
    if (tried < maxPerMinute) return false;
    if (now - since > longestWaitMs && !isEnd) {
      const result = `the channel had more than ${maxPerMinute} notifications a minute for ${longestWaitMs / minuteMs} minutes`;
      await this.#end(row, 'RATE_LIMITED', result, 'rate-limited');
    } else {
      await store.notifications.postpone(row, {
        next_at: now + waitForRoomMs,
        // This was not an attempt.
        tries: row.tries - 1,
        failed_tries: row.failed_tries,
        result: row.result,
      });
    }
    return true;
  }

  async #record(row: AlertNotificationRow, delivery: Delivery, retries: number): Promise<void> {
    const { store, clock, logger } = this.#options;
    const now = clock.wallMs();
    if (delivery.isDelivered) {
      await this.#end(row, 'SUCCESS', delivery.result, 'delivered');
      return;
    }
    // An attempt that died with its process does not count: after crashes the channel keeps all its attempts.
    const failedTries = row.failed_tries + 1;
    if (delivery.isRetryable && failedTries <= retries) {
      const delayMs = Math.min(
        longestRetryMs,
        Math.max(delivery.retryAfterMs ?? 0, firstRetryMs * 2 ** (failedTries - 1)),
      );
      await store.notifications.postpone(row, {
        next_at: now + delayMs,
        tries: row.tries,
        failed_tries: failedTries,
        result: delivery.result,
      });
      return;
    }
    await this.#end(row, 'FAILURE', delivery.result, delivery.isRetryable ? 'given-up' : 'refused');
    logger.warn(
      { notificationId: row.id, channelId: row.channel_id, tries: row.tries, reason: delivery.result },
      'failed to notify an alert channel; giving up',
    );
  }

  async #end(
    row: AlertNotificationRow,
    status: Exclude<AlertNotificationRow['status'], 'IN_PROGRESS'>,
    result: string,
    outcome: NotificationOutcome,
  ): Promise<void> {
    const { store, clock, metrics } = this.#options;
    if (await store.notifications.end(row, status, result, clock.wallMs())) {
      if (row.former_channel_id !== null) await store.receiverIncidents.forgetFormer(row.former_channel_id);
      metrics.countNotification(row.account_id, row.channel_type, outcome);
    }
  }

  async #deliver(
    row: AlertNotificationRow,
    channel: AlertChannel,
    message: ChannelMessage,
  ): Promise<Delivery> {
    const { mail, settings } = this.#options.outlets;
    const { config } = channel.definition;
    const kind = findChannelKind(channel.type);
    if (!kind) return undeliverable(`this version does not support channels of type ${channel.type}`);
    const why = kind.whyUndelivered(settings, config);
    if (why !== undefined) return undeliverable(why);
    const { sender } = kind;
    switch (sender.kind) {
      case 'http':
        return this.#deliverRequests(row, sender, sender.requests(config, message, settings));
      case 'mail':
        return mail
          ? mail.send(sender.mail(config, message))
          : undeliverable('this service has no mail server');
      case 'template':
        return this.#deliverTemplate(channel.accountId, config as WebhookConfig, message);
    }
  }

  /**
   * Sends the requests of a notification in sequence. Progress is stored, so that a retry starts with the first request
   * that is not done.
   */
  async #deliverRequests(
    row: AlertNotificationRow,
    { readAnswer }: HttpSender,
    requests: readonly OutboundRequest[],
  ): Promise<Delivery> {
    const { store, outlets, clock } = this.#options;
    const read = readAnswer && ((answer: Answer) => readAnswer(answer, outlets.settings));
    const refused = row.refused === null ? [] : [...refusedParts(row.refused)];
    const beganMs = clock.monotonicMs();
    let last: Delivery = { isDelivered: true, result: 'sent' };
    for (let index = row.sent; index < requests.length; index += 1) {
      if (clock.monotonicMs() - beganMs > longestRoundMs) {
        return { isDelivered: false, result: `${index} of ${requests.length} are sent`, isRetryable: true };
      }
      const request = requests[index] as OutboundRequest;
      last = await outlets.http.send(request, { areRefusalsPassing: false, read });
      if (!last.isDelivered && last.isRetryable) return last;
      if (!last.isDelivered) refused.push(last.result);
      if (requests.length > 1) await store.notifications.recordProgress(row, index + 1, refused);
    }
    if (refused.length === 0 || requests.length === 1) return last;
    return undeliverable(
      `${refused.length} of ${requests.length} refused: ${refused.join('; ')}`.slice(0, 1_000),
    );
  }

  async #deliverTemplate(
    accountId: string,
    config: WebhookConfig,
    message: ChannelMessage,
  ): Promise<Delivery> {
    const { outlets, clock } = this.#options;
    let outbound: OutboundRequest;
    try {
      outbound = await templateThread.request(accountId, config, message, clock.wallMs());
    } catch (thrown) {
      if (thrown instanceof TemplateError) return undeliverable(thrown.message);
      throw thrown;
    }
    // Webhook contract: every status of 400 or above is retried.
    return outlets.http.send(outbound, { areRefusalsPassing: true });
  }

  #messageOf(
    row: AlertNotificationRow,
    alert: AlertRow,
    {
      signingKey,
      threadSince,
      ...known
    }: { readonly signingKey: string; readonly threadSince?: number } & Pick<
      AlertFacts,
      'cause' | 'analysis'
    >,
  ): ChannelMessage {
    const { hasPages, publicUrl } = this.#options;
    const base = publicUrl?.replace(/\/+$/, '');
    const { check_id: checkId, result_id: resultId } = alert;
    const runPath = hasPages
      ? `/checks/${checkId}/runs/${resultId}`
      : `/v1/check-results/${checkId}/${resultId}`;
    const facts = storedFacts(alert);
    const hasCheckPage = base !== undefined && hasPages && isOfCheck(facts);
    return channelMessage({
      id: row.id,
      alertId: alert.id,
      type: alert.alert_type,
      notice: alert.notice,
      checkId,
      filedUnder: row.check_id,
      resultId,
      accountId: alert.account_id,
      facts: { ...facts, ...known },
      created: alert.created,
      checkLink: hasCheckPage ? `${base}/checks/${checkId}` : null,
      ...(threadSince === undefined ? {} : { threadSince }),
      resultLink: base === undefined || resultId === null ? null : `${base}${runPath}`,
      pageLink:
        base === undefined
          ? null
          : signedPageLink(base, row.id, { signingKey, until: alert.created + linkLastsMs }),
    });
  }
}

function undeliverable(result: string): Delivery {
  return { isDelivered: false, result, isRetryable: false };
}
