import { AppError } from '@picket/lib/errors.ts';
import { utcText } from '@picket/lib/figures/time.ts';
import { type AnyHandler, type HandlerDeps, handlersById } from '@picket/platform/feature/handler.ts';
import { fieldError } from '@picket/platform/http/validation.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { alertHandlingRoutes } from '@picket/protocol/alerts/alert-handling.ts';
import { knownOfResult } from '../../analyses/analyst.ts';
import { record } from '../../audit/record.ts';
import { summaryOf } from '../causes/summary.ts';
import { type AlertPageAction, alertPage, type PresentState, pagePolicy } from '../delivery/alert-page.ts';
import { isSigned } from '../delivery/page-link.ts';
import { isOfCheck } from '../facts.ts';
import { storedFacts } from '../raise.ts';
import { isOpen, parseState } from '../stored-state.ts';
import type { AlertNotificationRow, AlertRow } from '../tables.ts';
import type { Actor } from './actor.ts';
import { acknowledge, type HandlingAction, silence } from './handle.ts';
import { channelName } from './notified.ts';
import { silenceAt } from './silence.ts';

/** Silences that the page's forms offer: one hour, four hours, and a day. */
const silenceMinutes = [60, 240, 1440] as const;

interface Shown {
  readonly notification: AlertNotificationRow;
  readonly alert: AlertRow;
}

export interface AlertPageDeps extends HandlerDeps {
  /** Whether there are pages, which the link of a run leads to. */
  readonly hasPages?: boolean | undefined;
}

/** The page of a notification: anyone with the link may read it, and may act on it if the link is signed. */
export function alertPageHandlers({
  store,
  clock,
  publicUrl,
  hasPages = false,
}: AlertPageDeps): [string, AnyHandler][] {
  const { showAlertPage, handleAlertByPage } = alertHandlingRoutes;
  const base = publicUrl?.replace(/\/+$/, '') ?? '';
  const runOf = ({ alert: { check_id: checkId, result_id: resultId } }: Shown) =>
    hasPages && resultId !== null ? `${base}/checks/${checkId}/runs/${resultId}` : null;
  const mayHandle = async ({ notification }: Shown, query: { until?: string; signature?: string }) => {
    const signingKey = await store.alertLinkKeys.of(notification.account_id);
    return isSigned(notification.id, query, { signingKey, now: clock.wallMs() });
  };
  return handlersById(
    { showAlertPage, handleAlertByPage },
    {
      async showAlertPage({ params, query, reply }) {
        const shown = await find(store, params.id);
        describe(reply);
        return pageOf(store, shown, {
          now: clock.wallMs(),
          canHandle: await mayHandle(shown, query),
          done: null,
          run: runOf(shown),
        });
      },
      async handleAlertByPage({ params, query, body, request, reply }) {
        const shown = await find(store, params.id);
        if (!(await mayHandle(shown, query))) {
          const why = 'This link is invalid or older than seven days.';
          throw new AppError('BAD_LINK', why);
        }
        const form = new URLSearchParams(body);
        const now = clock.wallMs();
        const actor = actorOf(shown.notification, form.get('name'));
        const done = await store.transaction(async (repositories) => {
          const said = await applyAction(repositories, shown, form, { now, actor });
          await record(repositories, clock, {
            actor,
            accountId: shown.alert.account_id,
            operation: 'handleAlertByPage',
            resource: `checks/${shown.alert.check_id}`,
            address: request.ip,
            after: { said },
            isForAll: true,
          });
          return said;
        });
        store.signals.send([{ kind: 'alerts' }]);
        describe(reply);
        return pageOf(store, shown, { now, canHandle: true, done, run: runOf(shown) });
      },
    },
  );
}

type Repositories = Parameters<Parameters<Store['transaction']>[0]>[0];

/** Performs the action of a form; returns a description for the user. */
async function applyAction(
  repositories: Repositories,
  { alert }: Shown,
  form: URLSearchParams,
  { actor, now }: Pick<HandlingAction, 'actor' | 'now'>,
): Promise<string> {
  const deed: HandlingAction = { accountId: alert.account_id, actor, comment: null, now };
  const facts = storedFacts(alert);
  const { runLocation } = facts;
  const [action, length] = (form.get('what') ?? '').split(' ');
  if (action === 'acknowledge' && isOfCheck(facts)) {
    const done = await acknowledge(repositories, alert.check_id, false, deed);
    return done
      ? 'The alert is acknowledged until it recovers.'
      : 'The check passes, so there is no alert to acknowledge.';
  }
  const minutes = silenceMinutes.find((one) => String(one) === length);
  if (minutes === undefined || (action !== 'silence-check' && action !== 'silence-location')) {
    throw fieldError('payload', [{ key: 'what', message: 'is not an action of this page' }]);
  }
  const isOfLocation = action === 'silence-location';
  if (isOfLocation ? runLocation === null : !isOfCheck(facts)) {
    throw fieldError('payload', [{ key: 'what', message: 'does not belong to this alert' }]);
  }
  const scope = {
    checkId: isOfLocation ? null : alert.check_id,
    tags: null,
    location: isOfLocation ? runLocation : null,
  };
  const { endsAt } = await silence(repositories, scope, now + minutes * 60_000, deed);
  const what = isOfLocation ? `Everything at ${runLocation}` : 'The check';
  return `${what} is silenced until ${utcText(endsAt)}.`;
}

async function find(store: Pick<Store, 'alerts' | 'notifications'>, notificationId: string): Promise<Shown> {
  const notification = await store.notifications.find(notificationId);
  const alerts = await store.alerts.findMany(notification ? [notification.alert_id] : []);
  const alert = notification && alerts.get(notification.alert_id);
  if (!alert)
    throw new AppError(
      'NOT_FOUND',
      'The alert does not exist, or it was deleted after its retention period.',
    );
  return { notification, alert };
}

function describe(reply: { header(name: string, value: string): unknown }): void {
  reply.header('content-security-policy', pagePolicy);
  reply.header('referrer-policy', 'no-referrer');
  reply.header('cache-control', 'private, no-store');
}

async function pageOf(
  store: Store,
  { alert, notification }: Shown,
  {
    now,
    canHandle,
    done,
    run,
  }: {
    readonly now: number;
    readonly canHandle: boolean;
    readonly done: string | null;
    readonly run: string | null;
  },
): Promise<string> {
  const causes = await store.alertCauses.findMany(alert.cause_id ? [alert.cause_id] : []);
  const cause = summaryOf(causes.get(alert.cause_id ?? ''), notification);
  const { analysis } =
    alert.notice === 'failure' && alert.result_id !== null
      ? await knownOfResult(store, { checkId: alert.check_id, resultId: alert.result_id })
      : {};
  const facts = { ...storedFacts(alert), cause, analysis };
  const status = await store.statuses.find(alert.account_id, alert.check_id);
  const state: PresentState = !status
    ? null
    : status.has_failures
      ? 'failing'
      : status.is_degraded
        ? 'degraded'
        : 'passing';
  const row = (await store.alerts.statesOf(alert.account_id)).find((one) => one.check_id === alert.check_id);
  const stored = parseState(row);
  const silences = (await store.silences.active([alert.account_id], now)).filter(
    ({ checkId, location }) =>
      checkId === alert.check_id || (location !== null && location === facts.runLocation),
  );
  const silent = silenceAt(silences, facts.runLocation === null ? [] : [facts.runLocation]);
  const { acknowledgement } = stored;
  const handled = [
    ...(acknowledgement
      ? [
          {
            label: 'Acknowledged',
            value: `by ${acknowledgement.by.name}, ${utcText(acknowledgement.at)}`,
          },
        ]
      : []),
    ...(silent ? [{ label: 'Silenced until', value: utcText(silent.endsAt) }] : []),
  ];
  const offers: AlertPageAction[] = [
    ...(isOfCheck(facts) && isOpen(stored) && !acknowledgement
      ? [{ action: 'acknowledge', minutes: null, label: 'Acknowledge' } as const]
      : []),
    ...(isOfCheck(facts)
      ? silenceMinutes.map((minutes) => ({
          action: 'silence-check' as const,
          minutes,
          label: `This check for ${hours(minutes)}`,
        }))
      : []),
    ...(facts.runLocation === null || facts.subject === 'test'
      ? []
      : silenceMinutes.map((minutes) => ({
          action: 'silence-location' as const,
          minutes,
          label: `Everything at ${facts.runLocation} for ${hours(minutes)}`,
        }))),
  ];
  // The link to the run is a button.
  const message = { ...alert, facts, resultLink: null };
  return alertPage(message, { state, handled, offers: canHandle ? offers : [], done, run });
}

const hours = (minutes: number) => (minutes === 60 ? '1 hour' : `${minutes / 60} hours`);

/** The holder of the link: the name they entered, and the channel it was sent to. */
function actorOf(notification: AlertNotificationRow, given: string | null): Actor {
  const link = `link sent to ${channelName(notification)}`;
  const name = (given ?? '').trim().slice(0, 100);
  return { kind: 'LINK', id: notification.id, name: name === '' ? link : `${name} (${link})` };
}
