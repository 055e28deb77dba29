import { z } from 'zod';
import { defineChannel } from '../contract/channel.ts';
import { channelName, httpUrl } from '../contract/fields.ts';
import type { ChannelMessage } from '../contract/message.ts';
import { sendJson } from '../contract/send-json.ts';
import { cut } from '../contract/text.ts';

/**
 * How long Alertmanager keeps an alert that is never ended. Without an end it resolves the alert after five minutes:
 * its usual clients repeat an alert while it lasts, and a channel sends it once.
 */
const keptMs = 30 * 86_400_000;

const names: Readonly<Record<string, string>> = {
  check: 'PicketCheckFailing',
  certificate: 'PicketCertificateExpiring',
  gap: 'PicketMonitoringGap',
  location: 'PicketLocationWithoutAgents',
  sickness: 'PicketLocationUnhealthy',
  outdated: 'PicketAgentsOutdated',
  slo: 'PicketErrorBudgetBurns',
  test: 'PicketTest',
};

/**
 * Alerts of Prometheus Alertmanager (API v2), ended by `endsAt`. Alertmanager identifies an alert by its labels, so
 * labels hold only what stays the same while the alert lasts; everything else is an annotation.
 */
export const alertmanager = defineChannel({
  type: 'ALERTMANAGER',
  title: 'Prometheus Alertmanager',
  icon: 'flame',
  config: z.object({
    name: channelName,
    url: httpUrl('URL of Alertmanager, as in a browser. For a cluster, create a channel for each member'),
    username: z
      .string()
      .max(255)
      .regex(/^[^:]*$/, 'must not contain ":"')
      .nullable()
      .default(null),
    password: z.string().max(512).nullable().default(null),
    bearerToken: z
      .string()
      .max(4_096)
      .regex(/^[\x21-\x7e]*$/, 'must not have spaces')
      .nullable()
      .default(null)
      .describe('Instead of a username and password'),
    labels: z
      .record(
        z.string().regex(/^(?!__)[a-zA-Z_]\w{0,127}$/, 'is not a valid label name'),
        z.string().max(1_024),
      )
      .default({})
      .describe('Labels of every alert, such as a team for routing'),
  }),
  hidden: ['password', 'bearerToken'],
  address: 'url',
  incidentsAt: ['url', 'labels'],
  sender: {
    kind: 'http',
    requests: (config, message) => [
      sendJson(
        `${config.url.replace(/\/+$/, '')}/api/v2/alerts`,
        [alert(config.labels, message)],
        authorization(config),
      ),
    ],
  },
  sample: { name: 'Ops', url: 'http://alertmanager.example.com:9093', labels: { team: 'shop' } },
});

function alert(labels: Readonly<Record<string, string>>, message: ChannelMessage) {
  const { title, cause, owner, locations, facts, link, subject, subjectId, incidentKey, since, createdAt } =
    message;
  const iso = (epochMs: number) => new Date(epochMs).toISOString();
  return {
    labels: {
      ...labels,
      alertname: names[subject] ?? 'PicketAlert',
      source: 'picket',
      subject,
      check_id: subjectId,
      incident: incidentKey,
    },
    annotations: {
      summary: cut(title, 1_000),
      description: cut(facts.map(({ label, value }) => `${label}: ${value}`).join('\n'), 8_000),
      cause: cut(cause, 1_000),
      owner,
      locations: locations.join(', '),
      severity: message.severity,
    },
    startsAt: iso(Math.min(since, createdAt)),
    endsAt: iso(message.isOver ? createdAt : createdAt + keptMs),
    ...(link === null ? {} : { generatorURL: link }),
  };
}

function authorization(config: {
  readonly username: string | null;
  readonly password: string | null;
  readonly bearerToken: string | null;
}): Record<string, string> {
  const { username, password, bearerToken } = config;
  if (bearerToken) return { authorization: `Bearer ${bearerToken}` };
  if (!username) return {};
  return { authorization: `Basic ${Buffer.from(`${username}:${password ?? ''}`).toString('base64')}` };
}
