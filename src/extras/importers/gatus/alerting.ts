import { dictionary } from '@picket/lib/names/dictionary.ts';
import type { Fields } from '@picket/protocol/projects/kind.ts';
import type { Collection } from '../collection.ts';
import { secondsOf } from '../go-formats.ts';
import { type Loss, Source } from '../source.ts';

/** The providers of a file that have a counterpart, and their channels. */
export class GatusAlerting {
  readonly #channels = new Map<string, string>();
  readonly #fields = new Map<string, Fields>();
  readonly #defaults = new Map<string, Fields>();
  readonly #recoveries: { readonly type: string; readonly alert: Source; readonly isSent: boolean }[] = [];
  readonly #collection: Collection;
  readonly #open: Source[] = [];
  readonly #used = new Set<string>();
  readonly #alerting: Source;

  constructor(collection: Collection, alerting: Source) {
    this.#collection = collection;
    this.#alerting = alerting;
    for (const type of alerting.keys) {
      const provider = alerting.child(type);
      this.#defaults.set(type, (provider.take('default-alert') ?? {}) as Fields);
      const read = providers[type];
      if (!read) {
        for (const key of provider.keys) provider.lose(key, `there is no channel of type ${type}`);
        continue;
      }
      const secret = (name: string) => {
        const value = provider.text(name);
        return value === undefined ? '' : collection.secret(`${type}_${name}`, value);
      };
      this.#fields.set(type, read(provider, secret));
      this.#channels.set(type, collection.reserve('alert-channels', type));
    }
  }

  /** The alert settings and channels of an endpoint with alerts. */
  settingsOf(endpoint: Source): Fields {
    const named: string[] = [];
    let settings: Fields = {};
    for (const written of endpoint.children('alerts')) {
      const type = written.text('type') ?? '';
      const alert = this.#withDefaults(written, type);
      const channel = this.#channels.get(type);
      this.#used.add(type);
      const isEnabled = alert.flag('enabled') ?? true;
      if (!channel) {
        written.note('type', `there is no channel of type ${type}, so this alert is not sent`);
        continue;
      }
      const isRecoverySent = alert.flag('send-on-resolved') ?? false;
      this.#recoveries.push({ type, alert, isSent: isRecoverySent });
      settings = thresholds(alert, settings);
      alert.expect('success-threshold', [1], 'a check recovers with the first run that passes');
      alert.expect('description', [], 'notifications describe the failure; they have no custom text');
      if (isEnabled) named.push(channel);
      else written.note('enabled', 'the alert is disabled: the check is not subscribed to the channel');
    }
    return { ...(named.length > 0 ? { alertChannels: [...new Set(named)] } : {}), ...settings };
  }

  /** Adds the channels, after the alerts of all endpoints are known. */
  finish(): void {
    for (const [type, logicalId] of this.#channels) {
      const ofType = this.#recoveries.filter((one) => one.type === type);
      const sendRecovery = ofType.length === 0 || ofType.some(({ isSent }) => isSent);
      this.#collection.put('alert-channels', logicalId, { ...this.#fields.get(type), sendRecovery });
    }
  }

  #withDefaults(alert: Source, type: string): Source {
    const losses: Loss[] = this.#collection.losses;
    const own = Object.fromEntries(alert.keys.map((key) => [key, alert.take(key)]));
    const whole = new Source({ ...this.#defaults.get(type), ...own }, alert.path, losses);
    whole.skip('type');
    this.#open.push(whole);
    return whole;
  }

  /** Reports fields that were not read. */
  finishAlerts(): void {
    for (const alert of this.#open) alert.finish();
    for (const { type, alert, isSent } of this.#recoveries) {
      if (isSent || !this.#recoveries.some((one) => one.type === type && one.isSent)) continue;
      alert.note(
        'send-on-resolved',
        'a channel sends recoveries of all its checks or no recoveries: it sends them',
      );
    }
    for (const [type, written] of this.#defaults) {
      if (Object.keys(written).length === 0 || this.#used.has(type)) continue;
      this.#alerting.note(`${type}.default-alert`, 'no endpoint uses this alert type');
    }
  }
}

function thresholds(alert: Source, before: Fields): Fields {
  const failures = alert.number('failure-threshold') ?? 3;
  if (failures > 5) alert.note('failure-threshold', 'a check alerts after 5 failures in a row at the latest');
  const reminder = alert.text('minimum-reminder-interval');
  const minutes = reminder === undefined ? undefined : (secondsOf(reminder) ?? 0) / 60;
  const interval =
    minutes === undefined ? undefined : [1, 2, 3, 4, 5, 10, 15, 30].findLast((one) => one <= minutes);
  if (minutes !== undefined && interval !== minutes) {
    alert.note('minimum-reminder-interval', `reminders come every 1 to 30 minutes: every ${interval ?? 1}`);
  }
  const failedRunThreshold = Math.min(failures, 5);
  const present = (
    before['alertSettings'] as { runBasedEscalation?: { failedRunThreshold: number } } | undefined
  )?.runBasedEscalation?.failedRunThreshold;
  if (present !== undefined && present !== failedRunThreshold) {
    alert.note(
      'failure-threshold',
      `a check has one threshold for all of its channels: ${Math.min(present, failedRunThreshold)}`,
    );
  }
  return {
    useGlobalAlertSettings: false,
    alertSettings: {
      ...(before['alertSettings'] as Fields | undefined),
      runBasedEscalation: { failedRunThreshold: Math.min(present ?? failedRunThreshold, failedRunThreshold) },
      ...(minutes === undefined ? {} : { reminders: { amount: 100_000, interval: interval ?? 1 } }),
    },
  };
}

type Secret = (name: string) => unknown;

/** Providers with a counterpart, and the channel for each. */
const providers = dictionary<(provider: Source, secret: Secret) => Fields>({
  slack: (_, secret) => ({ type: 'SLACK', config: { url: secret('webhook-url') } }),
  mattermost: (provider, secret) => ({
    type: 'SLACK',
    config: { url: secret('webhook-url'), channel: provider.text('channel') ?? null },
  }),
  discord: (_, secret) => ({ type: 'DISCORD', config: { name: 'Gatus', url: secret('webhook-url') } }),
  teams: (_, secret) => ({ type: 'MSTEAMS', config: { name: 'Gatus', url: secret('webhook-url') } }),
  'teams-workflows': (_, secret) => ({
    type: 'MSTEAMS',
    config: { name: 'Gatus', url: secret('webhook-url') },
  }),
  googlechat: (_, secret) => ({ type: 'GOOGLE_CHAT', config: { name: 'Gatus', url: secret('webhook-url') } }),
  pagerduty: (_, secret) => ({ type: 'PAGERDUTY', config: { serviceKey: secret('integration-key') } }),
  opsgenie: (provider, secret) => ({
    type: 'OPSGENIE',
    config: { name: 'Gatus', apiKey: secret('api-key'), priority: provider.text('priority') ?? 'P1' },
  }),
  telegram: (provider, secret) => {
    const topic = provider.number('topic-id');
    return {
      type: 'TELEGRAM',
      config: {
        ...{ name: 'Gatus', botToken: secret('token'), chatId: provider.text('id') ?? '' },
        ...(topic === undefined ? {} : { messageThreadId: topic }),
      },
    };
  },
  ntfy: (provider, secret) => ({
    type: 'NTFY',
    config: {
      ...{
        name: 'Gatus',
        url: provider.text('url') ?? 'https://ntfy.sh',
        topic: provider.text('topic') ?? '',
      },
      ...(provider.peek('token') ? { token: secret('token') } : {}),
    },
  }),
  'incident-io': (provider, secret) => ({
    type: 'INCIDENT_IO',
    config: { name: 'Gatus', url: provider.text('url') ?? '', token: secret('auth-token') },
  }),
  email: (provider) => {
    const [first = '', ...others] = (provider.text('to') ?? '').split(',').map((one) => one.trim());
    if (others.length > 0)
      provider.note('to', `a channel has one address: ${others.join(', ')} need one each`);
    for (const key of ['from', 'username', 'password', 'host', 'port', 'client']) {
      if (provider.peek(key))
        provider.lose(key, 'the mail server is a setting of the service (SMTP_URL, MAIL_FROM)');
    }
    return { type: 'EMAIL', config: { address: first } };
  },
  custom: (provider, secret) => {
    for (const key of ['body', 'placeholders']) {
      if (provider.peek(key)) {
        provider.lose(
          key,
          'placeholders have other names in templates of webhooks; the body contains all fields',
        );
      }
    }
    return {
      type: 'WEBHOOK',
      config: {
        ...{ name: 'Gatus', url: secret('url'), method: provider.text('method') ?? 'GET' },
        headers: Object.entries((provider.take('headers') ?? {}) as Fields).map(([key, value]) => ({
          ...{ key, value: String(value), locked: false },
        })),
      },
    };
  },
});
