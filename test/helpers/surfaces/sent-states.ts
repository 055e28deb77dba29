import type { HttpReceiver, MailReceiver } from '../service/alert-receivers.ts';
import { samplesIn } from '../service/remote-write-samples.ts';
import type { Said, Watched } from './said.ts';

/** Who is sent what the service says of checks. */
export interface Receivers {
  /** Of a webhook with `alertTemplate`. */
  readonly alerts: HttpReceiver;
  readonly mails: MailReceiver;
  readonly samples: HttpReceiver;
}

export const alertTemplate = '{"type":"{{ALERT_TYPE}}","checkId":"{{CHECK_ID}}"}';

/** What has been sent so far: alerts and mails stay sent, of metrics the newest counts. */
export function sentStates(
  { alerts, mails, samples }: Receivers,
  { names }: Watched,
): Readonly<Record<string, Map<string, Said>>> {
  const failing = (ids: readonly string[]) => new Map(ids.map((id) => [id, 'failing'] as const));
  const told: { type: string; checkId: string }[] = alerts.received.map(({ body }) => JSON.parse(body));
  const subjects = mails.received.map(({ source }) => /^Subject: (.*(?:\r\n .*)*)/m.exec(source)?.[1] ?? '');
  const bad = subjects.filter((subject) => /fail|degraded|flapping|recovered|burn/.test(subject));
  return {
    webhook: failing(
      told
        .filter(({ type }) => /FAILURE|DEGRADED|RECOVERY|FLAPPING|BURN/.test(type))
        .map(({ checkId }) => checkId),
    ),
    mail: failing(
      [...names].flatMap(([id, name]) => (bad.some((subject) => subject.includes(name)) ? [id] : [])),
    ),
    'remote write': writtenStates(samples),
  };
}

function writtenStates({ received }: HttpReceiver): Map<string, Said> {
  const said = new Map<string, Said>();
  // The whole body is read each time: there is one a minute.
  for (const { bytes } of received) {
    for (const { name, labels, isStale } of samplesIn(bytes)) {
      if (name !== 'picket_check_state' || isStale) continue;
      said.set(labels['check'] ?? '', (labels['state'] ?? null) as Said);
    }
  }
  return said;
}
